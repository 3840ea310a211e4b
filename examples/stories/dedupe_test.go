package stories_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// Burst dedupe: a cache entry expires and a hundred requests want to fill it at the same moment. They share one call,
// and with it one permit, one sequence of retries and one answer, because the layer that joins them is outermost. Even
// the request that led may give up: it leaves alone, and the call goes on for the others.
func Example_burstDedupe() {
	bus := events.NewBus()
	var here atomic.Int64
	bus.FlightJoined.Subscribe(func(context.Context, events.FlightJoined) { here.Add(1) })
	articles := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "articles.fill", Bus: bus,
		Layers: []resilience.Layer{
			resilience.MustSingleflight(resilience.SingleflightConfig{}),
			resilience.MustBulkhead(resilience.BulkheadConfig{Name: "articles", MaxConcurrent: 1, Bus: bus}),
			resilience.Retry{Backoff: resilience.NoDelay},
		},
	})

	leader, giveUp := context.WithCancel(context.Background())
	goOn, runs := make(chan struct{}), 0
	fill := func(context.Context) (string, error) {
		<-goOn
		if runs++; runs == 1 {
			return "", errDown
		}
		return "text", nil
	}
	var first, others sync.WaitGroup
	first.Go(func() {
		_, err := articles.DoKey(leader, "article:42", fill)
		fmt.Println("the leader:", resilience.KindOf(err))
	})
	waitUntil(func() bool { return here.Load() == 1 })
	var served atomic.Int64
	for range 99 {
		others.Go(func() {
			if text, err := articles.DoKey(context.Background(), "article:42", fill); err == nil && text == "text" {
				served.Add(1)
			}
		})
	}
	waitUntil(func() bool { return here.Load() == 100 })
	giveUp()
	first.Wait()
	close(goOn)
	others.Wait()

	fmt.Println(served.Load(), "others have the text, after", runs, "attempts in all")
	// Output:
	// the leader: canceled
	// 99 others have the text, after 2 attempts in all
}
