package stories_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// Hedged read: a replicated store answers in a few milliseconds, but now and then a replica stalls, and the page waits
// for it. Nineteen reads of twenty are left alone; for the twentieth a second replica is asked when the first has taken
// longer than they do, and the first answer counts. The delay is learned, so that nobody has to guess it, and the budget
// sees to it that hedges do not double the load of a store that is slow as a whole.
func Example_hedgedRead() {
	ctx := context.Background()
	store := &replicas{stalls: 40}
	bus := events.NewBus()
	var hedges atomic.Int32
	bus.HedgeStarted.Subscribe(func(context.Context, events.HedgeStarted) { hedges.Add(1) })
	reads := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "store.read",
		Layers: []resilience.Layer{
			resilience.Timeout{After: 10 * time.Second},
			resilience.Hedge{
				Delay:  5 * time.Second, // until there is something to learn from
				Learn:  resilience.MustLearnedDelay(resilience.LearnedDelayConfig{Quantile: 0.95, Min: 50 * time.Millisecond, Max: time.Second}),
				Budget: resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "store", Bus: bus}),
			},
		},
		Bus: bus,
	})

	for range 39 {
		if _, err := reads.Do(ctx, store.read); err != nil {
			panic(err)
		}
	}
	began := time.Now()
	answer, err := reads.Do(ctx, store.read) // this one stalls
	fmt.Println(answer, err, "without waiting for the replica that stalls:", time.Since(began) < 4*time.Second)
	fmt.Println("a second replica was asked:", hedges.Load() > 0)
	// Output:
	// found <nil> without waiting for the replica that stalls: true
	// a second replica was asked: true
}

// replicas answer at once, but for one read, which stalls until it is cancelled.
type replicas struct {
	reads  atomic.Int32
	stalls int32
}

func (r *replicas) read(ctx context.Context) (string, error) {
	if r.reads.Add(1) == r.stalls {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return "found", nil
}
