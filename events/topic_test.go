package events_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// BUS-01
func TestTopicDeliversItsOwnEventsByValue(t *testing.T) {
	bus := events.NewBus()
	var stops []events.RetryStopped
	bus.RetryStopped.Subscribe(func(_ context.Context, e events.RetryStopped) {
		stops = append(stops, e)
		e.Attempts = 99 // its own copy
	})
	bus.RetryStopped.Subscribe(func(_ context.Context, e events.RetryStopped) { stops = append(stops, e) })

	sent := events.RetryStopped{Meta: events.Meta{Key: "k", Execution: 7}, Reason: events.ReasonExhausted, Attempts: 3}
	bus.RetryScheduled.Publish(t.Context(), events.RetryScheduled{})
	bus.CallRejected.Publish(t.Context(), events.CallRejected{})
	bus.RetryStopped.Publish(t.Context(), sent)

	if want := []events.RetryStopped{sent, sent}; !slices.Equal(stops, want) {
		t.Fatalf("got %+v, want %+v", stops, want)
	}
}

// BUS-03 PITFALL-11
func TestTopicCallsHandlersSynchronouslyInTheOrderOfSubscription(t *testing.T) {
	bus := events.NewBus()
	var order []int
	var cancels []func()
	for i := range 5 {
		cancels = append(cancels, bus.TimedOut.Subscribe(func(context.Context, events.TimedOut) { order = append(order, i) }))
	}
	bus.TimedOut.Publish(t.Context(), events.TimedOut{})
	if want := []int{0, 1, 2, 3, 4}; !slices.Equal(order, want) {
		t.Fatalf("handlers ran as %v, want %v before Publish returns", order, want)
	}

	order = nil
	cancels[1]()
	cancels[1]() // again: nothing
	bus.TimedOut.Subscribe(func(context.Context, events.TimedOut) { order = append(order, 5) })
	bus.TimedOut.Publish(t.Context(), events.TimedOut{})
	if want := []int{0, 2, 3, 4, 5}; !slices.Equal(order, want) {
		t.Fatalf("after one left and one came: %v, want %v", order, want)
	}
}

// BUS-01
func TestTopicHandlersGetThePublishersContext(t *testing.T) {
	type key struct{}
	bus := events.NewBus()
	var got any
	bus.TimedOut.Subscribe(func(ctx context.Context, _ events.TimedOut) { got = ctx.Value(key{}) })
	bus.TimedOut.Publish(context.WithValue(t.Context(), key{}, "caller"), events.TimedOut{})
	if got != "caller" {
		t.Fatalf("the handler's context has %v", got)
	}
}

// BUS-02
func TestTopicTellsWhetherItIsHeard(t *testing.T) {
	bus := events.NewBus()
	if bus.TimedOut.Heard() {
		t.Fatal("heard before anybody subscribed")
	}
	first := bus.TimedOut.Subscribe(func(context.Context, events.TimedOut) {})
	second := bus.TimedOut.Subscribe(func(context.Context, events.TimedOut) {})
	first()
	if !bus.TimedOut.Heard() {
		t.Fatal("not heard although one subscriber is left")
	}
	second()
	if bus.TimedOut.Heard() {
		t.Fatal("heard although every subscriber has left")
	}
}

// BUS-04
func TestTopicLetsHandlersSubscribeCancelAndPublish(t *testing.T) {
	bus := events.NewBus()
	var order []string
	var cancelSecond func()
	bus.TimedOut.Subscribe(func(ctx context.Context, e events.TimedOut) {
		order = append(order, "first")
		if e.Attempt > 1 {
			return
		}
		cancelSecond()
		bus.TimedOut.Subscribe(func(context.Context, events.TimedOut) { order = append(order, "newcomer") })
		bus.TimedOut.Publish(ctx, events.TimedOut{Meta: events.Meta{Attempt: 2}})
	})
	cancelSecond = bus.TimedOut.Subscribe(func(_ context.Context, e events.TimedOut) { order = append(order, "second") })

	bus.TimedOut.Publish(t.Context(), events.TimedOut{Meta: events.Meta{Attempt: 1}})
	// The publication within sees the change; the one under way keeps to the subscribers it began with.
	if want := []string{"first", "first", "newcomer", "second"}; !slices.Equal(order, want) {
		t.Fatalf("got %v, want %v", order, want)
	}
}

// BUS-04
func TestTopicStartsNoHandlerInPublicationsAfterCancel(t *testing.T) {
	bus := events.NewBus()
	var workers sync.WaitGroup
	for id := range uint64(8) {
		workers.Go(func() {
			mine := events.TimedOut{Meta: events.Meta{Execution: id}}
			for range 300 {
				heard := 0 // no other goroutine touches it: the race detector proves that
				cancel := bus.TimedOut.Subscribe(func(_ context.Context, e events.TimedOut) {
					if e.Execution == id {
						heard++
					}
				})
				bus.TimedOut.Publish(context.Background(), mine)
				cancel()
				bus.TimedOut.Publish(context.Background(), mine)
				if heard != 1 {
					t.Errorf("heard %d of one publication before cancel and one after it, want the first alone", heard)
				}
			}
		})
	}
	workers.Wait()
	if bus.TimedOut.Heard() || bus.CallsHeard() {
		t.Fatal("heard although every subscriber has left")
	}
}

// BUS-03 PITFALL-4
func TestTopicGoexitInAHandlerLeavesTheOthersTheirEvent(t *testing.T) {
	for _, leaving := range [][]int{{0}, {2}, {0, 1}, {0, 1, 2}} {
		bus := events.NewBus()
		var order []int
		for i := range 3 {
			bus.TimedOut.Subscribe(func(context.Context, events.TimedOut) {
				order = append(order, i)
				if slices.Contains(leaving, i) {
					runtime.Goexit()
				}
			})
		}
		returned := false
		var caller sync.WaitGroup
		caller.Go(func() {
			bus.TimedOut.Publish(context.Background(), events.TimedOut{})
			returned = true
		})
		caller.Wait()
		if want := []int{0, 1, 2}; !slices.Equal(order, want) || returned {
			t.Errorf("with Goexit in %v: handlers %v, want %v; returned %v, want the goroutine to end", leaving, order, want, returned)
		}
		if n := bus.HandlerPanics(); n != 0 {
			t.Errorf("Goexit counted as %d panics", n)
		}
	}
}

// BUS-01 BUS-02
func TestTopicPublishesWithoutAllocating(t *testing.T) {
	bus := events.NewBus()
	source := bus.NewSource(events.SourceSpec{Pipeline: "p", Type: events.TypePipeline})
	ctx := t.Context()
	publish := func() {
		if bus.RetryStopped.Heard() {
			bus.RetryStopped.Publish(ctx, events.RetryStopped{Meta: events.Meta{Source: source, Execution: 1}, Attempts: 3})
		}
	}
	if n := testing.AllocsPerRun(100, publish); n != 0 {
		t.Errorf("unheard: %v allocations, want 0", n)
	}
	var attempts atomic.Int64
	count := func(_ context.Context, e events.RetryStopped) { attempts.Add(int64(e.Attempts)) }
	for handlers := 1; handlers <= 3; handlers++ {
		bus.RetryStopped.Subscribe(count)
		if n := testing.AllocsPerRun(100, publish); n != 0 {
			t.Errorf("%d handlers: %v allocations, want 0", handlers, n)
		}
	}
	if attempts.Load() == 0 {
		t.Fatal("nothing was published")
	}
}

func TestTopicRefusesANilHandlerAndABusThatWasNotMade(t *testing.T) {
	noHandler := func() { events.NewBus().TimedOut.Subscribe(nil) }
	if got := panicOf(noHandler); got != "events: nil handler for timeout.fired" {
		t.Errorf("nil handler: %v", got)
	}
	notMade := func() { new(events.Bus).TimedOut.Subscribe(func(context.Context, events.TimedOut) {}) }
	if got := panicOf(notMade); got != "events: the Bus was not made by NewBus" {
		t.Errorf("zero bus: %v", got)
	}
}

// panicOf returns what f panics with, nil if it does not.
func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func BenchmarkPublish(b *testing.B) {
	bus := events.NewBus()
	var n atomic.Int64
	for _, name := range []string{"unheard", "one handler"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if bus.RetryStopped.Heard() {
					bus.RetryStopped.Publish(context.Background(), events.RetryStopped{Attempts: 3})
				}
			}
		})
		bus.RetryStopped.Subscribe(func(context.Context, events.RetryStopped) { n.Add(1) })
	}
}
