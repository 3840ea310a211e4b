package events_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// call runs one interval the way a layer does: the end is deferred before the start hooks run.
func call(ctx context.Context, bus *events.Bus, operation func(context.Context)) {
	var ends events.Ends[events.AttemptFinished]
	defer func() { ends.Finish(events.AttemptFinished{Outcome: events.OutcomeSuccess}) }()
	operation(bus.Attempt.Begin(ctx, events.AttemptStarted{Kind: events.AttemptInitial}, &ends))
}

// track observes attempts as hook i and writes what happens into trace; the hooks in fails do what fail does.
func track(bus *events.Bus, i int, trace *[]string, failAtStart, failAtEnd func(i int)) (cancel func()) {
	return bus.Attempt.Observe(func(context.Context, events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
		*trace = append(*trace, fmt.Sprint("start ", i))
		failAtStart(i)
		return nil, func(events.AttemptFinished) {
			*trace = append(*trace, fmt.Sprint("end ", i))
			failAtEnd(i)
		}
	})
}

func noFailure(int) {}

// BUS-07
func TestIntervalHooksDeriveTheContextThatLaterHooksAndTheOperationGet(t *testing.T) {
	type key struct{}
	bus := events.NewBus()
	var seen []any
	for i := range 5 {
		bus.Attempt.Observe(func(ctx context.Context, _ events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
			seen = append(seen, ctx.Value(key{}))
			if i == 2 {
				return nil, nil // leaves it as it is
			}
			derived := context.WithValue(ctx, key{}, i)
			return derived, func(events.AttemptFinished) { seen = append(seen, derived.Value(key{})) }
		})
	}
	call(context.WithValue(t.Context(), key{}, "caller"), bus, func(ctx context.Context) {
		seen = append(seen, fmt.Sprint("operation ", ctx.Value(key{})))
	})
	if want := []any{"caller", 0, 1, 1, 3, "operation 4", 4, 3, 1, 0}; !slices.Equal(seen, want) {
		t.Fatalf("contexts: %v, want %v", seen, want)
	}
}

// BUS-07
func TestIntervalWithNobodyObservingKeepsTheContext(t *testing.T) {
	bus := events.NewBus()
	call(t.Context(), bus, func(ctx context.Context) {
		if ctx != t.Context() {
			t.Error("the context was changed")
		}
	})
}

// BUS-08
func TestIntervalEndsEachStartOnceInReverse(t *testing.T) {
	for _, hooks := range []int{1, 2, 3, 4, 7} {
		bus := events.NewBus()
		var got, want []string
		for i := range hooks {
			track(bus, i, &got, noFailure, noFailure)
			want = append(want, fmt.Sprint("start ", i))
		}
		want = append(want, "operation")
		for i := hooks - 1; i >= 0; i-- {
			want = append(want, fmt.Sprint("end ", i))
		}
		call(t.Context(), bus, func(context.Context) { got = append(got, "operation") })
		if !slices.Equal(got, want) {
			t.Errorf("%d hooks: %v, want %v", hooks, got, want)
		}
	}
}

// BUS-08
func TestEndsCanBeUsedAgainWhenFinished(t *testing.T) {
	bus := events.NewBus()
	var ended []string
	for i := range 5 {
		bus.Attempt.Observe(func(_ context.Context, s events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
			return nil, func(events.AttemptFinished) { ended = append(ended, fmt.Sprintf("%d of attempt %d", i, s.Attempt)) }
		})
	}
	var ends events.Ends[events.AttemptFinished]
	for attempt := 1; attempt <= 3; attempt++ {
		ended = nil
		bus.Attempt.Begin(t.Context(), events.AttemptStarted{Meta: events.Meta{Attempt: attempt}}, &ends)
		ends.Finish(events.AttemptFinished{})
		ends.Finish(events.AttemptFinished{}) // again: nothing
		var want []string
		for i := 4; i >= 0; i-- {
			want = append(want, fmt.Sprintf("%d of attempt %d", i, attempt))
		}
		if !slices.Equal(ended, want) {
			t.Fatalf("ended %v, want %v", ended, want)
		}
	}
}

// BUS-08
func TestEndsLetGoOfTheHooksThatRan(t *testing.T) {
	bus := events.NewBus()
	collected := make(chan struct{})
	for i := range 5 {
		bus.Attempt.Observe(func(context.Context, events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
			span := &[64]int{i}
			if i == 1 || i == 4 { // one kept inline, one beyond
				runtime.AddCleanup(span, func(int) { collected <- struct{}{} }, i)
			}
			return nil, func(events.AttemptFinished) { span[1]++ }
		})
	}
	var ends events.Ends[events.AttemptFinished]
	bus.Attempt.Begin(t.Context(), events.AttemptStarted{}, &ends)
	ends.Finish(events.AttemptFinished{})
	for range 2 {
		collect(t, collected)
	}
	runtime.KeepAlive(&ends)
}

// BUS-05 BUS-08
func TestIntervalPanicsInHooksLeaveTheOthersTheirStartAndEnd(t *testing.T) {
	for mask := range 1 << 5 {
		bus := events.NewBus()
		var got, want []string
		panics := 0
		panicky := func(i int) {
			if mask&(1<<i) != 0 {
				panic(i)
			}
		}
		for i := range 5 { // even hooks panic at the start, odd ones at the end
			atStart, atEnd := noFailure, panicky
			if i%2 == 0 {
				atStart, atEnd = panicky, noFailure
			}
			track(bus, i, &got, atStart, atEnd)
			want = append(want, fmt.Sprint("start ", i))
		}
		want = append(want, "operation")
		for i := 4; i >= 0; i-- {
			if mask&(1<<i) != 0 {
				panics++
				if i%2 == 0 {
					continue // never began
				}
			}
			want = append(want, fmt.Sprint("end ", i))
		}
		call(t.Context(), bus, func(context.Context) { got = append(got, "operation") })
		if !slices.Equal(got, want) || bus.HandlerPanics() != uint64(panics) {
			t.Errorf("panics in %05b: %v with %d panics, want %v with %d", mask, got, bus.HandlerPanics(), want, panics)
		}
	}
}

// BUS-08 PITFALL-2
func TestIntervalGoexitInAnEndHookLeavesTheOthersTheirEnd(t *testing.T) {
	for leaver := range 5 {
		bus := events.NewBus()
		var got []string
		for i := range 5 {
			track(bus, i, &got, noFailure, func(i int) {
				switch i {
				case leaver:
					runtime.Goexit()
				case leaver - 1: // a panic on the way out is recovered as well
					panic("late")
				}
			})
		}
		var caller sync.WaitGroup
		caller.Go(func() { call(context.Background(), bus, func(context.Context) { got = nil }) })
		caller.Wait()
		if want := []string{"end 4", "end 3", "end 2", "end 1", "end 0"}; !slices.Equal(got, want) {
			t.Errorf("Goexit in the end of %d: %v, want %v", leaver, got, want)
		}
	}
}

// BUS-08 PITFALL-2
func TestIntervalGoexitInAStartHookEndsWhatBegan(t *testing.T) {
	for leaver := range 5 {
		bus := events.NewBus()
		var got, want []string
		for i := range 5 {
			track(bus, i, &got, func(i int) {
				if i == leaver {
					runtime.Goexit()
				}
			}, noFailure)
		}
		for i := 0; i <= leaver; i++ {
			want = append(want, fmt.Sprint("start ", i))
		}
		for i := leaver - 1; i >= 0; i-- {
			want = append(want, fmt.Sprint("end ", i))
		}
		var caller sync.WaitGroup
		caller.Go(func() {
			call(context.Background(), bus, func(context.Context) { t.Error("the operation ran although the goroutine ends") })
		})
		caller.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("Goexit in the start of %d: %v, want %v", leaver, got, want)
		}
	}
}
