package resilience

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
)

// RET-17: the arithmetic, step by step.
func TestFeedbackTakesOneAndReturnsTheRatio(t *testing.T) {
	f := newFeedback(10, 0.1)
	level := f.max
	for _, step := range []struct {
		success bool
		level   int64
		granted int64
	}{
		{true, 10000, 5}, // never above the maximum
		{false, 9000, 4}, {false, 8000, 3}, {false, 7000, 2}, {false, 6000, 1},
		{false, 5000, 0}, // equality denies
		{true, 5100, 1},
		{false, 4100, 0}, {false, 3100, 0}, {false, 2100, 0}, {false, 1100, 0}, {false, 100, 0},
		{false, 0, 0}, {false, 0, 0}, // never below 0
		{true, 100, 0}, {true, 200, 0},
	} {
		if level = f.after(level, step.success); level != step.level || f.granted(level) != step.granted {
			t.Fatalf("success %v: level %d grants %d, want %d and %d", step.success, level, f.granted(level), step.level, step.granted)
		}
	}
}

// RET-17: thousandths, whatever floating point makes of them.
func TestFeedbackCountsInThousandths(t *testing.T) {
	for _, c := range []struct {
		tokens int
		ratio  float64
		want   feedback
	}{
		{1, 0.001, feedback{1000, 1}}, {1, 0.0014, feedback{1000, 1}}, {3, 0.29, feedback{3000, 290}}, {100, 0.57, feedback{100000, 570}},
		{100, 1.001, feedback{100000, 1001}}, {7, 1e6, feedback{7000, 7000}}, {100, math.MaxFloat64, feedback{100000, 100000}},
		{math.MaxInt32, math.MaxFloat64, feedback{math.MaxInt32 * 1000, math.MaxInt32 * 1000}},
	} {
		if got := newFeedback(c.tokens, c.ratio); got != c.want {
			t.Errorf("%d tokens, ratio %v: %+v, want %+v", c.tokens, c.ratio, got, c.want)
		}
	}
}

// RET-18: the windows stand where they began, whenever they are read, and each gives the allowance anew.
func TestReplenishedWindowsStandStill(t *testing.T) {
	r := replenished{allowance: 3, window: 10, origin: -95}
	var level int64
	for _, step := range []struct{ now, left int64 }{
		{-95, 3}, {-95, 2}, {-86, 1}, {-86, 0}, // the first window is [-95, -85)
		{-85, 3}, // the next begins exactly then
		{-61, 3}, {-56, 2},
		{-55, 3}, // a late read at -61 did not shift it
		{-50, 2}, {-46, 1}, {-46, 0},
		{1000, 3}, {1001, 2}, {1004, 1}, // [995, 1005)
		{1005, 3},
	} {
		if got := r.left(level, step.now); got != step.left {
			t.Fatalf("at %d: %d left, want %d", step.now, got, step.left)
		}
		next, ok := r.take(level, step.now)
		if ok != (step.left > 0) {
			t.Fatalf("at %d: granted %v with %d left", step.now, ok, step.left)
		}
		if ok {
			level = next
		}
	}
}

// RET-18: also where the clock is behind the moment at which the budget was made.
func TestReplenishedWindowsBeforeTheFirst(t *testing.T) {
	r := replenished{allowance: 1, window: 10}
	var level int64
	for _, now := range []int64{-15, -5, 5} {
		next, ok := r.take(level, now)
		if !ok || r.left(next, now) != 0 {
			t.Errorf("at %d: granted %v, then %d left; want the window's own", now, ok, r.left(next, now))
		}
		level = next
	}
}

// RET-17, RET-18: who comes at the same moment neither loses nor doubles what another does.
func TestABudgetsWordIsChangedByOneAtATime(t *testing.T) {
	const callers, each = 8, 50_000
	replenishing := MustRetryBudget(RetryBudgetConfig{Name: "b", Allowance: callers * each / 2, Window: time.Hour, Bus: events.Off()})
	feedback := MustRetryBudget(RetryBudgetConfig{Name: "b", Tokens: 4 * callers * each, Ratio: 0.5, Bus: events.Off()})
	var granted atomic.Int64
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for range each {
				if replenishing.take() {
					granted.Add(1)
				}
				feedback.feed(i%2 == 0)
				feedback.feed(false)
			}
		})
	}
	wg.Wait()
	if got := granted.Load(); got != callers*each/2 || replenishing.Available() != 0 {
		t.Errorf("%d granted, %d left; want %d and 0", got, replenishing.Available(), callers*each/2)
	}
	// Of each two callers one took 1 - 0.5 a turn and one took 2. A first success finds the budget full, and is lost.
	const want = 2*callers*each - callers*each*5/4
	if got := feedback.Available(); got < want-callers || got > want {
		t.Errorf("%d left, want %d", got, want)
	}
}

// PIPE-26: with a clock that is years off the allowance is a whole one.
func TestReplenishedForgetsAnotherClock(t *testing.T) {
	const years = 26 * 365 * 24 * 3600 * 1e9
	r := replenished{allowance: 2, window: 1e9}
	level, _ := r.take(0, 5e9)
	for _, now := range []int64{-years, 5e9 + years, math.MinInt64, math.MaxInt64, -1} {
		if got := r.left(level, now); got != 2 {
			t.Errorf("at %d: %d left, want 2", now, got)
		}
	}
}

// RET-18: whatever the numbers, no window gives more than the allowance, and each gives all of it.
func FuzzReplenishedGivesTheAllowance(f *testing.F) {
	f.Add(int64(1), int64(1), int64(0), int64(0), int64(0))
	f.Add(int64(math.MaxInt32), int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt64), int64(math.MaxInt64))
	f.Add(int64(3), int64(1e9), int64(-7), int64(-5e9), int64(12345))
	f.Fuzz(func(t *testing.T, allowance, window, origin, at, level int64) {
		if allowance < 1 || allowance > math.MaxInt32 || window < 1 {
			return
		}
		r := replenished{allowance: min(allowance, 1000), window: window, origin: origin}
		left := r.left(level, at)
		if left < 0 || left > r.allowance {
			t.Fatalf("%d left of %d", left, r.allowance)
		}
		for n := left; n > 0; n-- {
			next, ok := r.take(level, at)
			if level = next; !ok || r.left(level, at) != n-1 {
				t.Fatalf("%d left, granted %v, then %d left", n, ok, r.left(level, at))
			}
		}
		if _, ok := r.take(level, at); ok {
			t.Fatal("a drained window gave one more")
		}
	})
}
