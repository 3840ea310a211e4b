package resilience

import (
	"fmt"
	"math"
	"time"
)

// Backoff is how the delays between attempts grow. Delay is called concurrently.
type Backoff interface {
	// Delay returns the wait before the n-th retry, n from 1 on, without jitter and without regard to the cap
	// (Retry.MaxDelay). previous is the delay before the retry before, as drawn; 0 at first. A negative result counts
	// as 0.
	Delay(n int, previous time.Duration) time.Duration
}

// BackoffFunc is a Backoff of one's own.
type BackoffFunc func(n int, previous time.Duration) time.Duration

// Delay calls f.
func (f BackoffFunc) Delay(n int, previous time.Duration) time.Duration { return f(n, previous) }

// Exponential grows the delay by a factor: Base x Factor^(n-1).
type Exponential struct {
	Base   time.Duration // 0 means 250 ms
	Factor float64       // at least 1; 0 means 2
}

// Delay implements [Backoff]. It never overflows: what is too large is the largest duration.
func (e Exponential) Delay(n int, _ time.Duration) time.Duration {
	e = e.withDefaults()
	return toDuration(float64(e.Base) * math.Pow(e.Factor, float64(max(n, 1)-1)))
}

func (e Exponential) withDefaults() Exponential {
	e.Base = or(e.Base, defaultBase)
	e.Factor = or(e.Factor, 2)
	return e
}

// Linear grows the delay by the same amount each time: Step x n. It has no jitter unless asked for.
type Linear struct {
	Step time.Duration // 0 means 250 ms
}

// Delay implements [Backoff]. It never overflows: what is too large is the largest duration.
func (l Linear) Delay(n int, _ time.Duration) time.Duration {
	step, n := or(l.Step, defaultBase), max(n, 1)
	if step > math.MaxInt64/time.Duration(n) {
		return math.MaxInt64
	}
	return step * time.Duration(n)
}

// Constant is the same delay each time. It has no jitter unless asked for.
type Constant time.Duration

// Delay implements [Backoff].
func (c Constant) Delay(int, time.Duration) time.Duration { return time.Duration(c) }

// NoDelay starts the next attempt at once.
const NoDelay = Constant(0)

const (
	defaultBase     = 250 * time.Millisecond
	defaultMaxDelay = 30 * time.Second
)

// toDuration converts nanoseconds, within the range of durations; NaN is the largest.
func toDuration(ns float64) time.Duration {
	if !(ns < math.MaxInt64) {
		return math.MaxInt64
	}
	return time.Duration(max(ns, 0))
}

// backoffLiteral returns what a pointer to a Backoff of ours points to, so that both may be used, and later changes
// change nothing.
func backoffLiteral(b Backoff) Backoff {
	switch p := b.(type) {
	case *Exponential:
		if p != nil {
			return *p
		}
	case *Linear:
		if p != nil {
			return *p
		}
	case *Constant:
		if p != nil {
			return *p
		}
	}
	return b
}

// ownBackoff tells whether b is one of ours, which cannot panic.
func ownBackoff(b Backoff) bool {
	switch b.(type) {
	case Exponential, Linear, Constant:
		return true
	}
	return false
}

// checkBackoff refuses what a Backoff of ours, as backoffLiteral returns it, must not be.
func checkBackoff(c *checks, b Backoff) {
	switch b := b.(type) {
	case *Exponential, *Linear, *Constant: // of the others the literal is checked
		c.refuse("Backoff", b, "set, or left out for the default")
	case Exponential:
		if b.Base < 0 {
			c.refuse("Backoff.Base", b.Base, "positive, or 0 for the default, 250ms")
		}
		if math.IsNaN(b.Factor) || math.IsInf(b.Factor, 0) || b.Factor != 0 && b.Factor < 1 {
			c.refuse("Backoff.Factor", b.Factor, "finite and at least 1, or 0 for the default, 2")
		}
	case Linear:
		if b.Step < 0 {
			c.refuse("Backoff.Step", b.Step, "positive, or 0 for the default, 250ms")
		}
	case Constant:
		if b < 0 {
			c.refuse("Backoff", time.Duration(b), "0 (NoDelay) or positive")
		}
	case BackoffFunc:
		if b == nil {
			c.refuse("Backoff", b, "a function, or left out for the default")
		}
	}
}

// describeBackoff tells a backoff's effective settings.
func describeBackoff(b Backoff) string {
	switch b := b.(type) {
	case Exponential:
		b = b.withDefaults()
		return fmt.Sprintf("exponential %v x%v", b.Base, b.Factor)
	case Linear:
		return fmt.Sprintf("linear %v", or(b.Step, defaultBase))
	case Constant:
		if b == 0 {
			return "none"
		}
		return fmt.Sprintf("constant %v", time.Duration(b))
	}
	return fmt.Sprintf("%T", b)
}
