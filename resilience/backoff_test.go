package resilience

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// RET-08
func TestBackoffsFollowTheirFormulas(t *testing.T) {
	custom := BackoffFunc(func(n int, previous time.Duration) time.Duration { return time.Duration(n)*time.Hour + previous })
	for _, c := range []struct {
		backoff Backoff
		want    []time.Duration // of n = 1, 2 ... with 1 s before
	}{
		{Exponential{}, []time.Duration{250e6, 500e6, 1e9, 2e9}},
		{Exponential{Base: time.Second, Factor: 3}, []time.Duration{1e9, 3e9, 9e9, 27e9}},
		{Exponential{Base: time.Second, Factor: 1}, []time.Duration{1e9, 1e9, 1e9}},
		{Linear{}, []time.Duration{250e6, 500e6, 750e6}},
		{Linear{Step: time.Second}, []time.Duration{1e9, 2e9, 3e9}},
		{Constant(time.Second), []time.Duration{1e9, 1e9, 1e9}},
		{NoDelay, []time.Duration{0, 0, 0}},
		{custom, []time.Duration{time.Hour + 1e9, 2*time.Hour + 1e9}},
	} {
		for i, want := range c.want {
			if got := c.backoff.Delay(i+1, time.Second); got != want {
				t.Errorf("%s: delay %d is %v, want %v", describeBackoff(c.backoff), i+1, got, want)
			}
		}
	}
}

// RET-08
func TestBackoffsEndAtTheLargestDuration(t *testing.T) {
	for _, b := range []Backoff{
		Exponential{Base: math.MaxInt64}, Exponential{Base: 1, Factor: math.MaxFloat64}, Linear{Step: math.MaxInt64}, Linear{Step: 1 << 60},
	} {
		for _, n := range []int{63, 64, 1025, math.MaxInt32, math.MaxInt32 + 1} {
			if got := b.Delay(n, 0); got != math.MaxInt64 && n > 64 || got < 0 {
				t.Errorf("%v: delay %d is %v", b, n, got)
			}
		}
	}
	for _, n := range []int{0, -1, math.MinInt} {
		for _, b := range []Backoff{Exponential{}, Linear{}} {
			if got := b.Delay(n, 0); got != defaultBase {
				t.Errorf("%v: delay %d is %v, want the first", b, n, got)
			}
		}
	}
}

// RET-08: attempts 1 to 10000 neither overflow, nor fall, nor become a hot loop.
func TestDelaysNeverFallBeforeJitter(t *testing.T) {
	for _, b := range []Backoff{Exponential{}, Exponential{Base: 1, Factor: 1.1}, Exponential{Base: time.Hour, Factor: 1.01}, Linear{}, Linear{Step: 1}, Constant(time.Second)} {
		for _, limit := range []time.Duration{1, defaultMaxDelay, math.MaxInt64} {
			d := delayer{backoff: b, jitter: JitterNone, cap: limit}
			var last time.Duration
			for n := 1; n <= 10000; n++ {
				got := d.next(n, last)
				if got < last || got <= 0 || got > limit {
					t.Fatalf("%s, cap %v: delay %d is %v after %v", describeBackoff(b), limit, n, got, last)
				}
				last = got
			}
		}
	}
}

// RET-08
func FuzzDelaysStayWithinTheCap(f *testing.F) {
	f.Add(1, int64(time.Second), 2.0, int64(30*time.Second), int64(0), 0.5)
	f.Add(1<<31, int64(math.MaxInt64), math.MaxFloat64, int64(math.MaxInt64), int64(math.MaxInt64), 1.0)
	f.Add(35, int64(250*time.Millisecond), 1.5, int64(math.MaxInt64), int64(1), 0.99999999999999989)
	f.Add(0, int64(1), math.NaN(), int64(0), int64(-1), math.NaN())
	f.Add(-1, int64(math.MinInt64), math.Inf(1), int64(1), int64(math.MinInt64), math.Inf(-1))
	f.Fuzz(func(t *testing.T, n int, base int64, factor float64, limit, previous int64, r float64) {
		limit, previous = max(limit, 0), max(previous, 0)
		b := time.Duration(base)
		for _, backoff := range []Backoff{
			Exponential{b, factor}, Linear{b}, Constant(b), BackoffFunc(func(n int, previous time.Duration) time.Duration { return b * time.Duration(n) }),
		} {
			for j := range Jitter(len(jitterNames)) {
				d := delayer{backoff: backoff, jitter: j, cap: time.Duration(limit), rand: func() float64 { return r }}
				if got := d.next(n, time.Duration(previous)); got < 0 || got > d.cap {
					t.Errorf("%s, jitter %v: delay %d after %d is %d, cap %d", fmt.Sprint(backoff), j, n, previous, got, limit)
				}
			}
		}
	})
}
