package events_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// BUS-04
func TestIntervalEndsWhatStartedAlsoAfterCancel(t *testing.T) {
	bus := events.NewBus()
	var trace []string
	cancel := track(bus, 0, &trace, noFailure, noFailure)
	call(t.Context(), bus, func(context.Context) { cancel() })
	call(t.Context(), bus, func(context.Context) {})
	if want := []string{"start 0", "end 0"}; !slices.Equal(trace, want) {
		t.Fatalf("%v, want %v: the end of the first call, nothing of the second", trace, want)
	}
	if bus.Attempt.Heard() {
		t.Fatal("heard after cancel")
	}
}

// BUS-04
func TestIntervalLetsHooksObserveAndCancel(t *testing.T) {
	bus := events.NewBus()
	var trace []string
	var cancelFirst func()
	cancelFirst = bus.Attempt.Observe(func(context.Context, events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
		cancelFirst()
		track(bus, 1, &trace, noFailure, noFailure)
		return nil, func(events.AttemptFinished) { trace = append(trace, "end of the first") }
	})
	call(t.Context(), bus, func(context.Context) {}) // the newcomer hears of the next call
	call(t.Context(), bus, func(context.Context) {})
	if want := []string{"end of the first", "start 1", "end 1"}; !slices.Equal(trace, want) {
		t.Fatalf("%v, want %v", trace, want)
	}
}

// BUS-08
func TestIntervalStartsAndEndsBalanceUnderConcurrency(t *testing.T) {
	bus := events.NewBus()
	var started, finished atomic.Int64
	observe := func() (cancel func()) {
		return bus.Attempt.Observe(func(context.Context, events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
			started.Add(1)
			return nil, func(events.AttemptFinished) { finished.Add(1) }
		})
	}
	defer observe()()
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for range 500 {
				call(context.Background(), bus, func(context.Context) {})
			}
		})
		workers.Go(func() {
			for range 500 {
				observe()()
			}
		})
	}
	workers.Wait()
	if s, f := started.Load(), finished.Load(); s != f || s < 4*500 {
		t.Fatalf("%d starts and %d ends, want as many, and at least one for each of 2000 calls", s, f)
	}
}

// BUS-01 BUS-02
func TestIntervalRunsWithoutAllocating(t *testing.T) {
	bus := events.NewBus()
	ctx := t.Context()
	begin := func() {
		var ends events.Ends[events.AttemptFinished]
		bus.Attempt.Begin(ctx, events.AttemptStarted{}, &ends)
		ends.Finish(events.AttemptFinished{})
	}
	var n atomic.Int64
	end := func(events.AttemptFinished) { n.Add(1) }
	for hooks := range 4 { // more than three: one slice
		if allocs := testing.AllocsPerRun(100, begin); allocs != 0 {
			t.Errorf("%d hooks: %v allocations, want 0", hooks, allocs)
		}
		bus.Attempt.Observe(func(context.Context, events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
			return nil, end
		})
	}
	if n.Load() == 0 {
		t.Fatal("nothing was observed")
	}
}

// BUS-02
func TestCallsHeardTellsWhetherACallNeedsARecord(t *testing.T) {
	bus := events.NewBus()
	check := func(what string, want bool, subscribe func() (cancel func())) {
		t.Helper()
		cancel := subscribe()
		if got := bus.CallsHeard(); got != want {
			t.Errorf("%s: CallsHeard = %v, want %v", what, got, want)
		}
		cancel()
		cancel()
		if bus.CallsHeard() {
			t.Errorf("%s: heard after cancel", what)
		}
	}
	var trace []string
	check("an interval", true, func() func() { return track(bus, 0, &trace, noFailure, noFailure) })
	check("a topic", true, func() func() { return bus.LateResult.Subscribe(func(context.Context, events.LateResult) {}) })
	check("a buffered topic", true, func() func() {
		return bus.LateResult.SubscribeBuffered(1, func(context.Context, events.LateResult) {}).Cancel
	})
	check("everything", true, func() func() { return bus.Subscribe(func(context.Context, events.Event) {}) })
	check("a breaker's state", false, func() func() {
		return bus.BreakerStateChanged.Subscribe(func(context.Context, events.BreakerStateChanged) {})
	})
	check("panics", false, func() func() {
		return bus.HandlerPanicked.Subscribe(func(context.Context, events.HandlerPanicked) {})
	})
	check("sources", false, func() func() {
		return bus.Source.Observe(func(context.Context, events.SourceAdded) func(context.Context, events.SourceRemoved) { return nil })
	})
}
