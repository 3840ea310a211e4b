package resilience

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// draws returns n delays before the retry number, drawn from a seeded source.
func draws(d delayer, count, number int, previous time.Duration) []time.Duration {
	d.rand = rand.New(rand.NewPCG(1, 2)).Float64
	all := make([]time.Duration, count)
	for i := range all {
		all[i] = d.next(number, previous)
	}
	return all
}

// RET-09
func TestJitterStaysInItsRangeAndFillsIt(t *testing.T) {
	const base, limit = 100 * time.Millisecond, 10 * time.Second
	exponential := Exponential{Base: base}
	for _, c := range []struct {
		name      string
		jitter    Jitter
		n         int
		previous  time.Duration
		low, high time.Duration // the draws are in [low, high)
	}{
		{"none", JitterNone, 3, 0, 400e6, 400e6 + 1},
		{"equal", JitterEqual, 3, 0, 200e6, 600e6},
		{"full", JitterFull, 3, 0, 0, 400e6},
		{"decorrelated, first", JitterDecorrelated, 1, 0, base, 3*base + 1},
		{"decorrelated", JitterDecorrelated, 7, 500 * time.Millisecond, base, 1500*time.Millisecond + 1},
		{"equal, at the cap", JitterEqual, 30, 0, limit / 2, limit + 1},
		{"equal, near the cap", JitterEqual, 7, 0, 3200e6, 9600e6},
		{"equal, reaching beyond the cap", JitterEqual, 8, 0, limit / 2, limit + 1},
		{"full, at the cap", JitterFull, 30, 0, 0, limit},
		{"decorrelated, at the cap", JitterDecorrelated, 9, 9 * time.Second, base, limit + 1},
	} {
		d := delayer{backoff: exponential, jitter: c.jitter, cap: limit}
		low, high := time.Duration(math.MaxInt64), time.Duration(0)
		for _, got := range draws(d, 10000, c.n, c.previous) {
			low, high = min(low, got), max(high, got)
		}
		margin := (c.high - c.low) / 100
		if low < c.low || high >= c.high || low > c.low+margin || high < c.high-margin-1 {
			t.Errorf("%s: draws in [%v, %v], want them to fill [%v, %v)", c.name, low, high, c.low, c.high)
		}
	}
}

// RET-09: each call has its own previous delay: the range depends on nothing else.
func TestDecorrelatedDependsOnItsOwnPreviousDelay(t *testing.T) {
	d := delayer{backoff: Exponential{Base: time.Second}, jitter: JitterDecorrelated, cap: time.Hour, rand: func() float64 { return 1 }}
	for _, c := range []struct{ previous, want time.Duration }{
		{0, 3 * time.Second}, {time.Second, 3 * time.Second}, {10 * time.Second, 30 * time.Second}, {20 * time.Minute, time.Hour},
		{20*time.Minute + 1, time.Hour}, {time.Hour, time.Hour},
	} {
		if got := d.next(5, c.previous); got != c.want {
			t.Errorf("after %v at most %v, want %v", c.previous, got, c.want)
		}
	}
	d.cap = 2500 * time.Millisecond
	if got := d.next(1, 0); got != d.cap {
		t.Errorf("at most %v, want the cap, %v, for 3 x base is beyond it", got, d.cap)
	}
}

// RET-08, RET-09: whatever a source of the user's says.
func TestJitterSurvivesABadSource(t *testing.T) {
	for _, r := range []float64{-1, 0, 1, 2, math.NaN(), math.Inf(1), math.Inf(-1)} {
		for j := range Jitter(len(jitterNames)) {
			for _, limit := range []time.Duration{0, 1, math.MaxInt64} {
				d := delayer{backoff: Constant(math.MaxInt64), jitter: j, cap: limit, rand: func() float64 { return r }}
				if got := d.next(1, math.MaxInt64); got < 0 || got > limit {
					t.Errorf("%v of %v: %d, cap %d", j, r, got, limit)
				}
			}
		}
	}
}

// RET-22
func TestDefaultJitterSpreadsCallersThatFailedTogether(t *testing.T) {
	const callers = 10000
	r := Retry{}.withDefaults()
	d := delayer{backoff: r.Backoff, jitter: r.Jitter, cap: r.MaxDelay}
	for name, c := range map[string]struct {
		n               int
		low, high, slot time.Duration // slots of 10 ms would hold 7 callers at the cap: chance alone doubles that
	}{
		"first":      {1, 125 * time.Millisecond, 375 * time.Millisecond, 10 * time.Millisecond},
		"at the cap": {20, 15 * time.Second, 30 * time.Second, 500 * time.Millisecond},
	} {
		in := map[time.Duration]int{}
		for _, got := range draws(d, callers, c.n, 0) {
			if got < c.low || got > c.high {
				t.Fatalf("%s: %v is not in [%v, %v]", name, got, c.low, c.high)
			}
			in[got/c.slot]++
		}
		fair := callers * int(c.slot) / int(c.high-c.low)
		for s, n := range in {
			if n > 2*fair {
				t.Errorf("%s: %d callers come back in the %v from %v on, fair is %d", name, n, c.slot, s*c.slot, fair)
			}
		}
	}
}
