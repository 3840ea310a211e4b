package events_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
)

// BUS-05 PITFALL-4
func TestHandlerPanicIsRecoveredCountedAndPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		source := bus.NewSource(events.SourceSpec{Pipeline: "p", Type: events.TypePipeline})
		boom := errors.New("boom")
		var heard []string
		bus.RetryStopped.Subscribe(func(context.Context, events.RetryStopped) { heard = append(heard, "before") })
		bus.RetryStopped.Subscribe(func(context.Context, events.RetryStopped) { panic(boom) })
		bus.RetryStopped.Subscribe(func(context.Context, events.RetryStopped) { heard = append(heard, "after") })
		var told []events.HandlerPanicked
		bus.HandlerPanicked.Subscribe(func(_ context.Context, e events.HandlerPanicked) { told = append(told, e) })

		sent := events.Meta{Source: source, Key: "k", Execution: 4, Attempt: 2, At: time.Now()}
		time.Sleep(time.Second) // virtual: the panic is later than the event
		bus.RetryStopped.Publish(t.Context(), events.RetryStopped{Meta: sent})

		if want := []string{"before", "after"}; !slices.Equal(heard, want) {
			t.Errorf("the other subscribers: %v, want %v", heard, want)
		}
		if n := bus.HandlerPanics(); n != 1 {
			t.Errorf("HandlerPanics = %d, want 1", n)
		}
		want := sent
		want.At = time.Now()
		if len(told) != 1 || told[0] != (events.HandlerPanicked{Meta: want, Event: "retry.stopped", Value: boom}) {
			t.Errorf("published %+v", told)
		}
	})
}

// BUS-05
func TestHandlerPanicWithNobodyToHearItIsCounted(t *testing.T) {
	bus := events.NewBus()
	for range 3 {
		bus.TimedOut.Subscribe(func(context.Context, events.TimedOut) { panic(nil) })
	}
	bus.TimedOut.Publish(t.Context(), events.TimedOut{})
	if n := bus.HandlerPanics(); n != 3 {
		t.Fatalf("HandlerPanics = %d, want 3", n)
	}
}

// BUS-05
func TestHandlerPanicInAHandlerOfSuchPanicsDoesNotLoop(t *testing.T) {
	bus := events.NewBus()
	calls := 0
	bus.HandlerPanicked.Subscribe(func(context.Context, events.HandlerPanicked) { panic("again") })
	bus.HandlerPanicked.Subscribe(func(context.Context, events.HandlerPanicked) { calls++ })
	bus.TimedOut.Subscribe(func(context.Context, events.TimedOut) { panic("first") })
	bus.TimedOut.Publish(t.Context(), events.TimedOut{})
	if calls != 1 || bus.HandlerPanics() != 2 {
		t.Fatalf("the other panic handler ran %d times with %d panics, want 1 and 2", calls, bus.HandlerPanics())
	}
}

// BUS-05
func TestHandlerPanicOfASubscriberToEverythingDoesNotLoop(t *testing.T) {
	bus := events.NewBus()
	var heard []string
	bus.Subscribe(func(_ context.Context, e events.Event) { heard = append(heard, e.EventName()); panic("always") })
	bus.TimedOut.Publish(t.Context(), events.TimedOut{})
	if want := []string{"timeout.fired", "handler.panicked"}; !slices.Equal(heard, want) {
		t.Fatalf("got %v, want %v", heard, want)
	}
}

// BUS-05 BUS-11
func TestHandlerOfPanicsThatMakesACallDoesNotRecurseWithoutEnd(t *testing.T) {
	// The observer panics at the start or at the end of every call, and whoever hears of it makes a call, say to ship a
	// log.
	for _, panicsAtEnd := range []bool{false, true} {
		bus := events.NewBus()
		call := func(ctx context.Context) {
			var ends events.Ends[events.ExecutionFinished]
			meta := events.Meta{Nested: events.Nested(ctx)} // as a pipeline does
			defer func() { ends.Finish(events.ExecutionFinished{Meta: meta}) }()
			bus.Execution.Begin(ctx, events.ExecutionStarted{Meta: meta}, &ends)
		}
		bus.Execution.Observe(func(context.Context, events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
			if !panicsAtEnd {
				panic("broken observer")
			}
			return nil, func(events.ExecutionFinished) { panic("broken observer") }
		})
		told := 0
		bus.HandlerPanicked.Subscribe(func(ctx context.Context, e events.HandlerPanicked) {
			if told++; told < 1000 { // far from the end of the stack
				call(ctx)
			}
		})
		call(t.Context())
		if told != 1 || bus.HandlerPanics() != 2 {
			t.Errorf("panicsAtEnd=%v: told of %d panics of %d, want 1 of 2", panicsAtEnd, told, bus.HandlerPanics())
		}
	}
}

// BUS-05 BUS-11
func TestHandlerPanicWithinANestedCallIsOnlyCounted(t *testing.T) {
	bus := events.NewBus()
	told := 0
	bus.HandlerPanicked.Subscribe(func(context.Context, events.HandlerPanicked) { told++ })
	bus.TimedOut.Subscribe(func(context.Context, events.TimedOut) { panic("always") })
	bus.TimedOut.Publish(events.Nest(t.Context()), events.TimedOut{})
	bus.TimedOut.Publish(t.Context(), events.TimedOut{Meta: events.Meta{Nested: true}})
	if told != 0 || bus.HandlerPanics() != 2 {
		t.Fatalf("told of %d panics of %d, want none of 2", told, bus.HandlerPanics())
	}
}

// BUS-05
func TestGuardTellsOfPanicsOutsideOfTheBus(t *testing.T) {
	bus := events.NewBus()
	var told []events.HandlerPanicked
	bus.HandlerPanicked.Subscribe(func(_ context.Context, e events.HandlerPanicked) { told = append(told, e) })
	handle := func(panics bool) {
		defer bus.Subscriber().Guard(t.Context(), events.TimedOut{Meta: events.Meta{Execution: 7}})
		if panics {
			panic("in a queue of its own")
		}
	}
	handle(false)
	handle(true)
	if len(told) != 1 || told[0].Event != "timeout.fired" || told[0].Execution != 7 || told[0].Value != "in a queue of its own" {
		t.Errorf("told %+v", told)
	}
	if n := bus.HandlerPanics(); n != 1 {
		t.Errorf("HandlerPanics = %d, want 1", n)
	}
}

// BUS-05
func TestHandlerPanicsAreCountedUnderConcurrency(t *testing.T) {
	bus := events.NewBus()
	bus.TimedOut.Subscribe(func(context.Context, events.TimedOut) { panic("always") })
	var publishers sync.WaitGroup
	for range 8 {
		publishers.Go(func() {
			for range 100 {
				bus.TimedOut.Publish(context.Background(), events.TimedOut{})
			}
		})
	}
	publishers.Wait()
	if n := bus.HandlerPanics(); n != 800 {
		t.Fatalf("HandlerPanics = %d, want 800", n)
	}
}
