package events_test

import (
	"context"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// BUS-11
func TestNestMarksAContextOnce(t *testing.T) {
	ctx := t.Context()
	if events.Nested(ctx) {
		t.Error("an ordinary context is marked")
	}
	nested := events.Nest(ctx)
	if !events.Nested(nested) || events.Nested(ctx) {
		t.Error("Nest does not mark the context it returns, or marks the one it is given")
	}
	if again := events.Nest(nested); again != nested {
		t.Error("a marked context is marked again")
	}
	derived, cancel := context.WithCancel(nested)
	defer cancel()
	if !events.Nested(context.WithoutCancel(derived)) {
		t.Error("the mark is lost in derived contexts")
	}
}

// BUS-11
func TestNestEndsTheRecursionOfAHandlerThatMakesCalls(t *testing.T) {
	bus := events.NewBus()
	pipeline := func(ctx context.Context) { // as a pipeline does
		meta := events.Meta{Nested: events.Nested(ctx)}
		var ends events.Ends[events.ExecutionFinished]
		defer func() { ends.Finish(events.ExecutionFinished{Meta: meta}) }()
		bus.Execution.Begin(ctx, events.ExecutionStarted{Meta: meta}, &ends)
	}
	exported := 0
	bus.Execution.Observe(func(ctx context.Context, e events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
		if e.Nested {
			return nil, nil // as an adapter does
		}
		return nil, func(events.ExecutionFinished) {
			exported++
			pipeline(events.Nest(ctx)) // its own client is resilient
		}
	})
	pipeline(t.Context())
	pipeline(t.Context())
	if exported != 2 {
		t.Fatalf("exported %d calls, want the 2 that were not its own", exported)
	}
}
