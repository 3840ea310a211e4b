package resilience

import (
	"math/rand/v2"
	"time"
)

// Jitter is how the delays are spread, so that callers that failed together do not come back together.
type Jitter uint8

const (
	// JitterDefault is JitterEqual for Exponential, JitterNone for every other backoff.
	JitterDefault Jitter = iota
	// JitterNone leaves the delay as it is.
	JitterNone
	// JitterEqual draws from [0.5, 1.5) of the backoff's delay.
	JitterEqual
	// JitterFull draws from [0, 1) of the backoff's delay.
	JitterFull
	// JitterDecorrelated draws from [base, 3 x the previous delay], where base is the backoff's first delay
	// (Marc Brooker, "Exponential Backoff And Jitter", 2015). Each call has its own previous delay.
	JitterDecorrelated
)

var jitterNames = [...]string{"default", "none", "equal", "full", "decorrelated"}

// String returns the jitter's name.
func (j Jitter) String() string {
	if int(j) < len(jitterNames) {
		return jitterNames[j]
	}
	return "Jitter(invalid)"
}

// delayer turns a backoff into the delays that are waited.
type delayer struct {
	backoff Backoff
	jitter  Jitter // never JitterDefault
	cap     time.Duration
	rand    func() float64
}

// next returns the delay before the n-th retry. It is at least 0 and at most the cap, and draws do not pile up on the
// cap: a range that reaches beyond it is cut, not what is drawn from it.
func (d *delayer) next(n int, previous time.Duration) time.Duration {
	if same, ok := d.backoff.(Constant); ok && d.jitter == JitterNone {
		return min(max(time.Duration(same), 0), d.cap)
	}
	if d.jitter == JitterDecorrelated {
		base, high := d.curve(1, 0), d.cap
		if from := or(previous, base); from <= d.cap/3 {
			high = max(3*from, base)
		}
		return d.between(base, high)
	}
	curve := d.curve(n, previous)
	switch d.jitter {
	case JitterEqual:
		return d.between(curve/2, curve+min(curve/2, d.cap-curve))
	case JitterFull:
		return d.between(0, curve)
	}
	return curve
}

// curve is the backoff within [0, cap].
func (d *delayer) curve(n int, previous time.Duration) time.Duration {
	return min(max(d.backoff.Delay(n, previous), 0), d.cap)
}

func (d *delayer) between(low, high time.Duration) time.Duration {
	span := high - low
	return low + min(toDuration(d.draw()*float64(span)), span)
}

// draw returns a number in [0, 1], whatever a source of the user's says.
func (d *delayer) draw() float64 {
	f := 0.0
	if d.rand == nil {
		f = rand.Float64()
	} else {
		f = d.rand()
	}
	if !(f > 0) {
		return 0
	}
	return min(f, 1)
}
