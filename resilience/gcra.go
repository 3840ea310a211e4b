package resilience

import (
	"math/bits"
	"time"
)

// gcra is the generic cell rate algorithm, in the form of ITU-T I.371 (Annex A) and the ATM Forum's Traffic Management
// 4.0 that is called virtual scheduling: all that is remembered is one instant, the theoretical arrival time (TAT) of the
// next call. Each call moves it on by the interval, and conforms once it is no further ahead of the clock than the
// capacity. It is a token bucket of capacity/interval tokens, full when the TAT is not ahead. Spans and instants are
// nanoseconds of the clock's.
type gcra struct {
	interval int64 // between calls at the rate, rounded up: the rate is never exceeded
	capacity int64 // the burst, in intervals
	longest  int64 // that a call may wait
}

const (
	// maxSpan is the longest period, and the longest time in which a burst is refilled: far from overflow, and less than
	// what lies between the clocks inside and outside of a bubble.
	maxSpan = 10 * 365 * 24 * time.Hour
	// maxRateWait is the longest wait, for the same reason.
	maxRateWait = 365 * 24 * time.Hour
	// otherClock is how much further ahead than possible the TAT must be to be another clock's.
	otherClock = int64(time.Minute)
)

func newGCRA(rate int, per time.Duration, burst int, wait time.Duration) gcra {
	interval := (int64(per)-1)/int64(rate) + 1
	return gcra{interval: interval, capacity: int64(burst) * interval, longest: int64(min(wait, maxRateWait))}
}

// ahead returns how far the TAT is ahead of the clock: what is taken, and not refilled yet. waiting tells whether anybody
// may have taken what is not there yet.
//
// The difference may wrap: a clock that is more than 292 years off is as good as any. With a clock that never goes back
// it is at most capacity + longest, so what is far more was left by another clock, such as that of a bubble which has
// ended, and counts for nothing. Between the two, and nobody waiting, the allowance is exhausted and not overdrawn: the
// clock went back a little, or those who had waited have left.
func (g gcra) ahead(tat, now int64, waiting bool) int64 {
	switch d := tat - now; {
	case d <= 0 || d > g.capacity+g.longest+otherClock:
		return 0
	case d > g.capacity && !waiting:
		return g.capacity
	default:
		return d
	}
}

// take returns the TAT after one more call, and how long that call has to wait until it conforms.
func (g gcra) take(tat, now int64, waiting bool) (next, wait int64) {
	ahead := g.ahead(tat, now, waiting) + g.interval
	return now + ahead, max(ahead-g.capacity, 0)
}

// giveBack returns the TAT before the call that made it next and has to wait: what it was, unless that was overdrawn
// with nobody waiting.
func (g gcra) giveBack(next int64) int64 { return next - g.interval }

// taken returns how many calls of the burst are taken; what is refilled in part counts as taken.
func (g gcra) taken(tat, now int64, waiting bool) int64 {
	if g.interval == 0 {
		return 0
	}
	return (min(g.ahead(tat, now, waiting), g.capacity) + g.interval - 1) / g.interval
}

// convert returns how far the TAT of another rate is ahead when as many calls are taken of it, to the part of a call, and
// not more than its burst.
func (g gcra) convert(ahead int64, to gcra) int64 {
	calls, part := min(ahead, g.capacity)/g.interval, min(ahead, g.capacity)%g.interval
	if calls >= to.capacity/to.interval {
		return to.capacity
	}
	hi, lo := bits.Mul64(uint64(part), uint64(to.interval))
	ns, _ := bits.Div64(hi, lo, uint64(g.interval)) // less than to.interval, as part is less than g.interval
	return calls*to.interval + int64(ns)
}
