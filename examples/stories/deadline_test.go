package stories_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// Bounded-deadline retry: a request handler has two seconds left, the next attempt is due in a minute. The retry does
// not sleep into the deadline: it stops at once, with the failure that the dependency gave, and there is time to answer
// something else. What it did get is the failure that the caller sees, not a deadline that tells nobody why.
//
// Not a limit by itself: where callers have no deadline, put a Timeout outside the retry, which it reckons with just so.
func Example_boundedDeadlineRetry() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	bus := events.NewBus()
	bus.RetryStopped.Subscribe(func(_ context.Context, e events.RetryStopped) {
		fmt.Println("stopped:", e.Reason, "after attempt", e.Attempts)
	})
	service := &remote{down: always}
	prices := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "prices.get", Bus: bus,
		Layers: []resilience.Layer{
			resilience.Retry{MaxAttempts: 5, Backoff: resilience.Constant(time.Minute), MaxDelay: time.Hour},
		},
	})

	began := time.Now()
	_, err := prices.Do(ctx, service.get)

	fmt.Println(err, "at once:", time.Since(began) < time.Second, "calls:", service.calls)
	fmt.Println("the deadline's error:", errors.Is(err, context.DeadlineExceeded))
	// Output:
	// stopped: deadline after attempt 1
	// no answer at once: true calls: 1
	// the deadline's error: false
}
