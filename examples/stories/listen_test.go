package stories_test

import (
	"context"
	"fmt"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// A team counts how often its breakers open. The handler runs inside the call that opens one: it only counts.
func Example_listen() {
	ctx := context.Background()
	opened := map[string]int{}
	stop := events.Default().BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) {
		if e.To == events.StateOpen {
			opened[e.Source.Layer()]++ // a handler of a real service locks, or uses an atomic
		}
	})
	defer stop()

	geo := resilience.MustBreaker(resilience.BreakerConfig{Name: "geo", ConsecutiveFailures: 1})
	service := &remote{down: 1}
	_ = geo.Run(ctx, service.ping)

	fmt.Println(opened)
	// Output: map[geo:1]
}

// Somebody is to be paged when a breaker opens, which takes a second of somebody else's HTTP. On a buffered subscription it
// delays no call; what the queue has no room for is counted in events.Bus.Dropped.
func Example_listenBuffered() {
	ctx := context.Background()
	paged := make(chan string)
	page := func(_ context.Context, e events.BreakerStateChanged) {
		paged <- fmt.Sprintf("%s: %s -> %s (%s), %d of %d calls failed", e.Source.Layer(), e.From, e.To, e.Reason, e.Failures, e.Calls)
	}
	pages := events.Default().BreakerStateChanged.SubscribeBuffered(64, page)
	defer pages.Close(ctx) // delivers what is queued

	tax := resilience.MustBreaker(resilience.BreakerConfig{Name: "tax", ConsecutiveFailures: 2})
	service := &remote{down: 2}
	_ = tax.Run(ctx, service.ping)
	_ = tax.Run(ctx, service.ping)

	fmt.Println(<-paged)
	// Output: tax: closed -> open (consecutive), 2 of 2 calls failed
}

// A team wants one line a call that says how it ended and what decided. Calls are intervals: the observer sees the
// beginning, where it may derive the operation's context, and returns what is to be done at the end.
func Example_listenToCalls() {
	ctx := context.Background()
	bus := events.NewBus() // a bus of one's own: nothing else is heard
	stop := bus.Execution.Observe(func(context.Context, events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
		return nil, func(e events.ExecutionFinished) {
			fmt.Printf("%s: %v after %d attempts (%v)\n", e.Source.Pipeline(), e.Outcome, e.Attempts, e.Reason)
		}
	})
	defer stop()

	quotes := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "quotes.get", Bus: bus, Layers: []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay}},
	})
	_, _ = quotes.Do(ctx, (&remote{down: 1}).get)
	_, _ = quotes.Do(ctx, (&remote{down: always}).get)
	// Output:
	// quotes.get: success after 2 attempts ()
	// quotes.get: failure after 3 attempts (exhausted)
}

// Everything that happens, boxed, for a debug page: one subscription, and a line an event.
func Example_listenToEverything() {
	ctx := context.Background()
	bus := events.NewBus()
	all := events.NewBuffered(bus, 1024, func(_ context.Context, e events.Event) { fmt.Println(e.EventName()) })

	rates := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "rates.get", Bus: bus, Layers: []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay}},
	})
	_, _ = rates.Do(ctx, (&remote{down: 1}).get)

	fmt.Println(all.Close(ctx), "dropped:", all.Dropped()) // delivers what is queued first
	// Output:
	// source.added
	// execution.started
	// attempt.started
	// attempt.finished
	// retry.scheduled
	// attempt.started
	// attempt.finished
	// execution.finished
	// <nil> dropped: 0
}
