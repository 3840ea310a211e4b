package resilience_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// RET-18: so many extra attempts a window; the windows begin when the budget is made, and nothing is carried over.
func TestReplenishingBudgetAllowsSoManyAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "payments", Allowance: 3, Bus: events.Off()})
		retry := resilience.Retry{Backoff: resilience.NoDelay, Budget: b}
		for _, step := range []struct {
			sleep time.Duration
			runs  []int // of two calls
		}{
			{0, []int{3, 2}},                    // two extra, then the third
			{10*time.Second - 1, []int{1, 1}},   // the end of the first window
			{1, []int{3, 2}},                    // the second begins
			{37 * time.Second, []int{3, 2}},     // of the windows between nothing is left
			{3*time.Second - 1, []int{1, 1}},    // a late call did not shift them
			{1, []int{3, 2}},                    //
			{24 * 365 * time.Hour, []int{3, 2}}, // a long idle budget is not more than full
			{10 * time.Second, []int{3, 2}},     //
		} {
			time.Sleep(step.sleep)
			if got := runsOf(t, 2, retry); !slices.Equal(got, step.runs) {
				t.Errorf("after %v: runs %v, want %v", step.sleep, got, step.runs)
			}
		}
	})
}

// RET-18: what lies around an attempt takes nothing: not a first attempt, not a success, not a call that waits.
func TestATokenIsTakenWhenTheExtraAttemptStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := allowance(5)
		p := ints(events.Off(), resilience.Retry{MaxAttempts: 2, Backoff: resilience.Constant(time.Second), Budget: b})
		left := func(want int, when string) {
			t.Helper()
			synctest.Wait()
			if got := b.Available(); got != want {
				t.Errorf("%s: %d left, want %d", when, got, want)
			}
		}
		_ = p.Run(t.Context(), succeed)
		left(5, "after a success")
		go p.Run(t.Context(), func(ctx context.Context) error {
			if resilience.AttemptNumber(ctx) > 1 {
				time.Sleep(time.Second)
			}
			return errBoom
		})
		left(5, "while a retry waits")
		time.Sleep(1500 * time.Millisecond)
		left(4, "while the extra attempt runs")
		time.Sleep(time.Second)
		left(4, "when it has failed")
	})
}

// RET-18, PIPE-15: a cancellation before the extra attempt takes none, and frees a value that the wait kept.
func TestCancellationDuringTheWaitTakesNoToken(t *testing.T) {
	for name, make := range map[string]func(int) *resilience.RetryBudget{"feedback": tokens, "replenishing": allowance} {
		synctest.Test(t, func(t *testing.T) {
			b := make(100)
			bus := events.NewBus()
			tape := record(bus)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			kept := &reply{status: 503}
			got, err := replies(bus, resilience.Retry{Backoff: resilience.Constant(time.Minute), Budget: b}).Do(ctx, returns(kept, nil))
			if got != nil || !errors.Is(err, context.Canceled) || !errors.Is(err, errStatus) || kept.closed != 1 {
				t.Errorf("%s: %v, %v, closed %d times; want the cancellation, and the value closed once", name, got, err, kept.closed)
			}
			// The attempt itself failed before the caller left.
			if taken := int(b.Snapshot().Limit) - b.Available(); taken != map[string]int{"feedback": 1}[name] {
				t.Errorf("%s: %d taken", name, taken)
			}
			if e := heard[events.RetryStopped](tape)[0]; e.Reason != events.ReasonCanceled {
				t.Errorf("%s: stopped for %v", name, e.Reason)
			}
		})
	}
}

// RET-18: who comes at the same moment gets what is there, and no more, and each window is used to the last.
func TestReplenishingBudgetIsExactUnderContention(t *testing.T) {
	const callers, calls, each = 32, 50, 37
	synctest.Test(t, func(t *testing.T) {
		b := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "payments", Allowance: each, Window: time.Second, Bus: events.Off()})
		p := ints(events.Off(), resilience.Retry{MaxAttempts: 3, Backoff: resilience.NoDelay, Budget: b})
		for window := range 5 {
			var extra atomic.Int64
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for range calls {
						_ = p.Run(t.Context(), func(ctx context.Context) error {
							if resilience.AttemptNumber(ctx) > 1 {
								extra.Add(1)
							}
							return errBoom
						})
					}
				})
			}
			wg.Wait()
			if got := extra.Load(); got != each || b.Available() != 0 {
				t.Errorf("window %d: %d extra attempts, %d left; want %d and 0", window, got, b.Available(), each)
			}
			time.Sleep(time.Second)
		}
	})
}

// RET-17: nothing that is told at the same moment is lost.
func TestFeedbackBudgetCountsEveryOutcomeUnderContention(t *testing.T) {
	b := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "payments", Tokens: 20_000, Ratio: 0.5, Bus: events.Off()})
	p := ints(events.Off(), resilience.Retry{MaxAttempts: 1, Budget: b})
	storm := func(ends ...func(context.Context) error) {
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				for n := range 100 {
					_ = p.Run(t.Context(), ends[(i+n)%len(ends)])
					b.Snapshot()
				}
			})
		}
		wg.Wait()
	}
	storm(fail)          // 3200
	storm(fail, succeed) // 1600 - 800
	if taken := 10_000 - b.Available(); taken != 4000 {
		t.Errorf("%d taken, want 4000", taken)
	}
}

// PIPE-26: a budget may be used in one bubble after another, and outside.
func TestABudgetLivesThroughBubbles(t *testing.T) {
	b := allowance(2)
	retry := resilience.Retry{Backoff: resilience.NoDelay, Budget: b}
	if got := runsOf(t, 2, retry); !slices.Equal(got, []int{3, 1}) {
		t.Errorf("outside: runs %v", got)
	}
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(24 * time.Hour)
			runsOf(t, 2, retry) // what the other clock has left may count, or not
			time.Sleep(time.Hour)
			if got := runsOf(t, 2, retry); !slices.Equal(got, []int{3, 1}) {
				t.Errorf("in a bubble: runs %v", got)
			}
		})
	}
	if got := runsOf(t, 1, retry); got[0] != 3 {
		t.Errorf("outside again: runs %v", got)
	}
}
