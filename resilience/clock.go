package resilience

import (
	"sync/atomic"
	"time"
)

// origin is where the clock of the hot path counts from.
var origin = time.Now()

// now reads the monotonic clock, in nanoseconds since origin. In a synctest bubble readings may be negative and differ
// from those outside by years: they are compared by their difference alone, and none of them means "never".
func now() int64 { return int64(time.Since(origin)) }

// wallStep is how old a reading of the wall clock may be that others are derived from: what sets that clock shows with
// such a delay.
const wallStep = int64(100 * time.Millisecond)

// moment is a reading of both clocks.
type moment struct {
	at   int64
	wall time.Time
}

var lastMoment atomic.Pointer[moment]

// timeAt returns the time of a reading of the monotonic clock that was just taken. Reading the wall clock costs twice as
// much as reading the other, so it is done now and then.
func timeAt(at int64) time.Time {
	m := lastMoment.Load()
	if m == nil || uint64(at-m.at+wallStep) > uint64(2*wallStep) {
		m = newMoment()
	}
	return m.wall.Add(time.Duration(at - m.at))
}

func newMoment() *moment {
	wall := time.Now()
	m := &moment{int64(wall.Sub(origin)), wall}
	lastMoment.Store(m)
	return m
}
