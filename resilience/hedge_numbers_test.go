package resilience_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// HDG-01, RET-02: runs are numbered over the whole call although nobody listens, also for a Retry outside.
func TestRunsOfAHedgeAreNumberedAlsoIfNobodyListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []int
		retry := resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay, OnRetry: func(_ context.Context, f resilience.FailedAttempt) bool {
			told = append(told, f.Number)
			return true
		}}
		for _, c := range []struct {
			layers        []resilience.Layer
			numbers, told []int
		}{
			{[]resilience.Layer{resilience.Hedge{}}, []int{1, 2}, nil},
			{[]resilience.Layer{resilience.Hedge{}, resilience.Timeout{}}, []int{1, 2}, nil},
			{[]resilience.Layer{retry, resilience.Hedge{}}, []int{1, 2, 3, 4}, []int{2}},
			{[]resilience.Layer{resilience.Hedge{MaxAttempts: 3}, resilience.Hedge{}}, []int{1, 2, 3, 4, 5, 6}, nil},
		} {
			var mu sync.Mutex
			var numbers []int
			told = nil
			_, err := ints(events.NewBus(), c.layers...).Do(t.Context(), func(ctx context.Context) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				numbers = append(numbers, resilience.AttemptNumber(ctx))
				return 0, errBoom
			})
			slices.Sort(numbers)
			if !slices.Equal(numbers, c.numbers) || !slices.Equal(told, c.told) || err == nil {
				t.Errorf("%v: runs %v, OnRetry was told of %v, %v", c.layers, numbers, told, err)
			}
		}
	})
}

// PIPE-13: the context of the run that decided ends also if a handler ends the goroutine that was to hand it over.
func TestAHandlerThatExitsLeavesNoContextOfARunBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		bus.HedgeSettled.Subscribe(func(context.Context, events.HedgeSettled) { runtime.Goexit() })
		var inside context.Context
		go func() {
			_, _ = ints(bus, resilience.Hedge{}).Do(t.Context(), func(ctx context.Context) (int, error) {
				inside = ctx
				return 1, nil
			})
		}()
		synctest.Wait()
		if inside.Err() == nil {
			t.Error("it lives on")
		}
	})
}
