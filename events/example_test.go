package events_test

import (
	"context"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/events"
)

func ExampleTopic_Subscribe() {
	bus := events.NewBus() // or events.Default()
	stop := bus.BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) {
		fmt.Printf("%s: %v -> %v (%v, %d of %d calls failed)\n", e.Source.Layer(), e.From, e.To, e.Reason, e.Failures, e.Calls)
	})
	defer stop()

	// What a circuit breaker does:
	db := bus.NewSource(events.SourceSpec{Layer: "payments-db", Type: events.TypeBreaker})
	bus.BreakerStateChanged.Publish(context.Background(), events.BreakerStateChanged{
		Meta: events.Meta{Source: db, At: time.Now()}, From: events.StateClosed, To: events.StateOpen,
		Reason: events.ReasonConsecutive, Calls: 7, Failures: 5,
	})
	// Output:
	// payments-db: closed -> open (consecutive, 5 of 7 calls failed)
}

func ExampleInterval_Observe() {
	type span struct{}
	bus := events.NewBus()
	stop := bus.Attempt.Observe(func(ctx context.Context, s events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
		name := fmt.Sprint("attempt ", s.Attempt)
		fmt.Println(name, "starts")
		return context.WithValue(ctx, span{}, name), func(f events.AttemptFinished) {
			fmt.Println(name, "ends:", f.Outcome)
		}
	})
	defer stop()

	// What a pipeline does:
	var ends events.Ends[events.AttemptFinished]
	defer func() { ends.Finish(events.AttemptFinished{Outcome: events.OutcomeSuccess}) }()
	ctx := bus.Attempt.Begin(context.Background(), events.AttemptStarted{Meta: events.Meta{Attempt: 1}}, &ends)
	fmt.Println("the operation runs within", ctx.Value(span{}))
	// Output:
	// attempt 1 starts
	// the operation runs within attempt 1
	// attempt 1 ends: success
}

func ExampleNewBuffered() {
	bus := events.NewBus()
	page := events.NewBuffered(bus, 256, func(_ context.Context, e events.Event) {
		line, err := events.AppendJSON(nil, e) // may be slow: it delays no call
		fmt.Println(string(line), err)
	})

	bus.RetryStopped.Publish(context.Background(), events.RetryStopped{
		Meta: events.Meta{At: time.Unix(1796025600, 0).UTC()}, Reason: events.ReasonExhausted, Attempts: 3,
	})
	if err := page.Close(context.Background()); err != nil { // waits for what is queued
		fmt.Println(err)
	}
	fmt.Println("dropped:", page.Dropped())
	// Output:
	// {"time":"2026-11-30T08:00:00Z","event.name":"retry.stopped","resilience.reason":"exhausted","resilience.execution.attempts":3} <nil>
	// dropped: 0
}

func ExampleNewTable() {
	bus := events.NewBus()
	type counters struct{ timeouts int }
	table := events.NewTable(bus, func(*events.Source) *counters { return new(counters) }, nil)
	defer table.Close()
	bus.TimedOut.Subscribe(func(_ context.Context, e events.TimedOut) {
		if c := table.Get(e.Source); c != nil { // resolved once, when the source was made
			c.timeouts++
		}
	})

	source := bus.NewSource(events.SourceSpec{Pipeline: "users.get", Layer: "timeout", Type: events.TypeTimeout})
	bus.TimedOut.Publish(context.Background(), events.TimedOut{Meta: events.Meta{Source: source}})
	fmt.Println(table.Get(source).timeouts)
	bus.Remove(source)
	fmt.Println(table.Get(source) == nil)
	// Output:
	// 1
	// true
}
