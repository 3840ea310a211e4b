package resilience

import "math"

// round is what is measured under one limit.
type round struct {
	number  int64
	began   int64
	sampled int  // how many calls are measured at least
	full    bool // no more are measured
	begun   int
	ended   int

	answered, turnedAway, timedOut int

	sum, squares float64 // of the latencies of those that were answered or timed out, outliers cut
	peak         int64   // calls under way when one of the measured began, itself included
	refused      bool    // a call found the limit reached
}

// closed tells whether no more calls are measured.
func (r *round) closed(at int64) bool {
	return r.full || r.begun >= r.sampled && at-r.began >= minRound
}

// measured adds what a call took.
func (r *round) measured(took, base float64) {
	if base > 0 {
		took = min(took, outlier*base)
	}
	r.sum += took
	r.squares += took * took
}

// found averages what the round has measured.
func (r *round) found(limit float64) step {
	n := float64(r.answered + r.timedOut)
	mean := r.sum / n
	return step{limit, mean, math.Sqrt(max(r.squares/n-mean*mean, 0)/n) / mean}
}
