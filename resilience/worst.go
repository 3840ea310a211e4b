package resilience

import (
	"math"
	"time"
)

const (
	// forever is the budget of a call without a limit.
	forever = time.Duration(math.MaxInt64)
	// maxCounted is up to how many attempts are counted where a limit decides.
	maxCounted = 1000
)

// attemptsAtWorst tells how many attempts fit when each takes all the time it may, and each delay is as long as it can be.
func (s stack) attemptsAtWorst() int {
	runs, _ := s.fit(0, forever, maxCounted)
	if runs == math.MaxInt {
		return Unlimited
	}
	return runs
}

// fit tells how many attempts of what is inside from position on begin within the budget, up to most, and what of it they
// take. Without a budget they are only counted.
func (s stack) fit(position int, budget time.Duration, most int) (runs int, taken time.Duration) {
	if position == len(s.layers) {
		return 1, budget // a hanging operation takes all there is
	}
	l := s.layers[position]
	switch {
	case l.limit > 0:
		return s.fit(position+1, min(budget, l.limit), most)
	case l.hedge != nil && budget != forever:
		return s.fitHedge(l.hedge, position, budget, most)
	case l.hedge != nil:
		runs, _ = s.fit(position+1, budget, most)
		return product(runs, l.hedge.MaxAttempts), budget
	case l.retry == nil:
		return s.fit(position+1, budget, most)
	case budget == forever:
		runs, _ = s.fit(position+1, budget, most)
		return product(runs, l.retry.MaxAttempts), budget
	}
	var delay time.Duration
	for turn := 1; ; turn++ {
		more, took := s.fit(position+1, budget-taken, most-runs)
		runs, taken = runs+more, taken+took
		if turn == l.retry.MaxAttempts || runs >= most {
			return runs, taken
		}
		if delay = l.retry.longest(turn, delay); delay >= budget-taken {
			return runs, taken
		}
		taken += delay
	}
}

// fitHedge is fit for a hedge, whose runs begin when they are due, or when all before them have failed.
func (s stack) fitHedge(h *Hedge, position int, budget time.Duration, most int) (runs int, taken time.Duration) {
	delay := h.Delay
	if h.Learn != nil {
		delay = h.Learn.cfg.Min // what it may learn
	}
	var due time.Duration
	for turn := 1; ; turn++ {
		more, took := s.fit(position+1, budget-due, most-runs)
		runs, taken = runs+more, max(taken, due+took)
		if delay < taken-due {
			due += delay
		} else {
			due = taken
		}
		if turn == h.MaxAttempts || runs >= most || due >= budget {
			return runs, taken
		}
	}
}

// product multiplies attempts without overflow; math.MaxInt is no limit.
func product(runs, attempts int) int {
	if attempts == Unlimited || runs > math.MaxInt/attempts {
		return math.MaxInt
	}
	return runs * attempts
}

// longest is the longest delay before the n-th retry, if the one before was the longest, too. Functions of the user's are
// not asked: their delays count as none.
func (r *Retry) longest(n int, previous time.Duration) time.Duration {
	switch r.Backoff.(type) {
	case Exponential, Linear, Constant:
	default:
		return 0
	}
	if r.Delay != nil {
		return 0
	}
	d := delayer{backoff: r.Backoff, jitter: r.Jitter, cap: r.MaxDelay, rand: func() float64 { return 1 }}
	return d.next(n, previous)
}
