package stories_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// Fail-fast hot read: every page asks for the same recommendations, thousands of times a second, and a page without them
// is still a page. Readers of one list share a call, a short timeout and a breaker see to it that a slow or dead service
// costs next to nothing, and nothing is repeated or waits.
//
// Not for what a caller cannot do without: there a retry belongs inside. Not where answers differ by more than the key
// says: who may see what belongs into the key.
func Example_failFastHotRead() {
	bus := events.NewBus()
	var arrived, opened atomic.Int64
	bus.FlightJoined.Subscribe(func(context.Context, events.FlightJoined) { arrived.Add(1) })
	bus.BreakerStateChanged.Subscribe(func(context.Context, events.BreakerStateChanged) { opened.Add(1) })

	recommendations := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "recommendations.get", Bus: bus,
		Layers: []resilience.Layer{
			resilience.MustSingleflight(resilience.SingleflightConfig{}), // readers of one key share one call
			resilience.MustBreaker(resilience.BreakerConfig{
				Name: "recommendations", ConsecutiveFailures: 3, Cooldown: 30 * time.Second, Bus: bus,
			}),
			resilience.Timeout{After: 50 * time.Millisecond},
		},
	})
	service := &remote{}
	page := func(get resilience.Operation[string]) string {
		shown, err := recommendations.DoKey(context.Background(), "home", get)
		if err != nil {
			return "bestsellers" // any error will do: the page is shown
		}
		return shown
	}

	// A hundred readers at one moment: the first one's call is everybody's.
	var readers sync.WaitGroup
	for range 100 {
		readers.Go(func() {
			page(func(ctx context.Context) (string, error) {
				waitUntil(func() bool { return arrived.Load() == 100 })
				return service.get(ctx)
			})
		})
	}
	readers.Wait()
	fmt.Println("100 readers at once:", service.calls, "call")

	// The service dies. Three calls find out, the others cost it nothing.
	service.down, service.calls = always, 0
	shown := map[string]int{}
	for range 1000 {
		shown[page(service.get)]++
	}
	fmt.Println("1000 readers of a dead service:", service.calls, "calls,", shown, "opened:", opened.Load())
	// Output:
	// 100 readers at once: 1 call
	// 1000 readers of a dead service: 3 calls, map[bestsellers:1000] opened: 1
}
