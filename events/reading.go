package events

import (
	"iter"
	"time"
)

// BreakerReading is a circuit breaker's state at one moment.
type BreakerReading struct {
	State State
	// In is how many breakers are in each state, indexed by State, where the source stands for several: those of a Keyed
	// layer. All 0: it is one breaker, in State.
	In [6]int64
	// Since is when the breaker entered the state, NextProbe when an open one lets a probe through (zero otherwise).
	Since, NextProbe time.Time
	// Seq is the sequence number of the last published transition.
	Seq uint64
	// Calls and Failures are what is counted now, FailureRatio their quotient, Limit what it is measured against: a
	// ratio, or a number of consecutive failures.
	Calls, Failures     int64
	FailureRatio, Limit float64
	// SlowCalls is how many of Calls were slow, SlowRatio their share, SlowLimit what that is measured against; all 0 where
	// slow calls are not counted.
	SlowCalls            int64
	SlowRatio, SlowLimit float64
	// Cooldown is how long the breaker stays open when it opens next, or stays open now.
	Cooldown time.Duration
	// Shadow tells that the breaker lets every call through, whatever its state.
	Shadow bool
	// Spent is the time spent in each state so far, indexed by State; 0 is no state.
	Spent [6]time.Duration
}

// LimiterReading is a limiter's state at one moment.
type LimiterReading struct {
	// Limit is how many calls a bulkhead or an adaptive limiter lets run at once; of a rate limiter, the burst.
	Limit int64
	// Usage is how many run; of a rate limiter, how many of the burst are taken and not refilled yet.
	Usage int64
	// Queued is how many calls wait.
	Queued int64
}

// BudgetReading is a retry budget's state at one moment.
type BudgetReading struct {
	// Available is how many extra attempts it would grant now: 0 is drained.
	Available int64
	// Limit is how many it grants at most.
	Limit int64
}

// KeyReading is the state of one key's gate at one moment.
type KeyReading struct {
	// Key is empty for the gate that calls without a key share with the keys that find no room. It may be personal.
	Key string
	// Breaker or Limiter is what the gate tells of itself; both are nil where it tells nothing.
	Breaker *BreakerReading
	Limiter *LimiterReading
}

// Breaker reads a circuit breaker's state; false for other sources.
func (s *Source) Breaker() (BreakerReading, bool) { return read[BreakerReading](s.reads) }

// Limiter reads a limiter's state; false for other sources.
func (s *Source) Limiter() (LimiterReading, bool) { return read[LimiterReading](s.reads) }

// Budget reads a retry budget's state; false for other sources.
func (s *Source) Budget() (BudgetReading, bool) { return read[BudgetReading](s.reads) }

// Keys returns what reads each gate of a Keyed layer; false for other sources.
func (s *Source) Keys() (iter.Seq[KeyReading], bool) { return reader[iter.Seq[KeyReading]](s.reads) }

// reads are the functions that read the state of what spec describes.
func (spec SourceSpec) reads() (all any) {
	if spec.Breaker != nil {
		all = spec.Breaker
	}
	if spec.Limiter != nil {
		all = also(all, spec.Limiter)
	}
	if spec.Budget != nil {
		all = also(all, spec.Budget)
	}
	if spec.Keys != nil {
		all = also(all, spec.Keys)
	}
	return all
}

func also(all, another any) any {
	switch reads := all.(type) {
	case nil:
		return another
	case []any:
		return append(reads, another)
	}
	return []any{all, another}
}

func read[R any](reads any) (r R, ok bool) {
	if f, ok := reader[func() R](reads); ok {
		return f(), true
	}
	return r, false
}

// reader returns the function of a type among those that read.
func reader[F any](reads any) (f F, ok bool) {
	switch reads := reads.(type) {
	case F:
		return reads, true
	case []any:
		for _, other := range reads {
			if f, ok = other.(F); ok {
				return f, true
			}
		}
	}
	return f, false
}
