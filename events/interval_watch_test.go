package events_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// BUS-07
func TestWatchersSeeTheContextThatTheOperationGets(t *testing.T) {
	type key struct{}
	bus := events.NewBus()
	var order []string
	watch := func(name string) {
		bus.Attempt.Watch(func(ctx context.Context, _ events.AttemptStarted) func(events.AttemptFinished) {
			order = append(order, fmt.Sprint(name, " starts in ", ctx.Value(key{})))
			return func(events.AttemptFinished) { order = append(order, name+" ends") }
		})
	}
	observe := func(name string) {
		bus.Attempt.Observe(func(ctx context.Context, _ events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
			order = append(order, name+" starts")
			return context.WithValue(ctx, key{}, name), func(events.AttemptFinished) { order = append(order, name+" ends") }
		})
	}
	watch("log")
	observe("first span")
	watch("page")
	observe("second span")
	var ends events.Ends[events.AttemptFinished]
	bus.Attempt.Begin(context.Background(), events.AttemptStarted{}, &ends)
	ends.Finish(events.AttemptFinished{})
	want := []string{"first span starts", "second span starts", "log starts in second span", "page starts in second span",
		"page ends", "log ends", "second span ends", "first span ends"}
	if !slices.Equal(order, want) {
		t.Errorf("got  %q\nwant %q", order, want)
	}
}

// BUS-07
func TestEndsComeWithTheContextOfTheirStart(t *testing.T) {
	type key struct{}
	bus := events.NewBus()
	var got []any
	cancel := bus.Execution.SubscribeEnds(func(ctx context.Context, e events.ExecutionFinished) {
		got = append(got, ctx.Value(key{}), e.Attempts)
	})
	bus.Execution.Observe(func(ctx context.Context, _ events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
		return context.WithValue(ctx, key{}, "derived"), nil
	})
	for _, attempts := range []int{3, 4} {
		var ends events.Ends[events.ExecutionFinished]
		bus.Execution.Begin(context.Background(), events.ExecutionStarted{}, &ends)
		ends.Finish(events.ExecutionFinished{Attempts: attempts})
		cancel()
	}
	if want := []any{"derived", 3}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := panicOf(func() { bus.Execution.SubscribeEnds(nil) }); got != "events: nil handler for execution.started" {
		t.Errorf("a nil handler panics with %v", got)
	}
}

// BUS-04 BUS-07
func TestWatchersComeAndGo(t *testing.T) {
	bus := events.NewBus()
	var trace []string
	watch := func(name string) (cancel func()) {
		return bus.Attempt.Watch(func(context.Context, events.AttemptStarted) func(events.AttemptFinished) {
			trace = append(trace, "+"+name)
			if name == "none" {
				return nil
			}
			return func(events.AttemptFinished) { trace = append(trace, "-"+name) }
		})
	}
	cancelA, cancelB := watch("a"), watch("b")
	watch("none")
	call(t.Context(), bus, func(context.Context) { cancelA() })
	call(t.Context(), bus, func(context.Context) { cancelB() })
	call(t.Context(), bus, func(context.Context) {})
	if want := []string{"+a", "+b", "+none", "-b", "-a", "+b", "+none", "-b", "+none"}; !slices.Equal(trace, want) {
		t.Fatalf("got %v, want %v", trace, want)
	}
}
