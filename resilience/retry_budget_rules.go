package resilience

import "math"

// feedback is the rule of gRPC's retry throttling (proposal A6, "gRPC Retry Design"), in thousandths of a token. Its level is
// the tokens that are there.
type feedback struct {
	max, ratio int64
}

// token is one, in thousandths.
const token = 1000

func newFeedback(tokens int, ratio float64) feedback {
	f := feedback{max: int64(tokens) * token}
	f.ratio = int64(math.Round(min(ratio, float64(tokens)) * token)) // more than all of them is all of them
	return f
}

// after returns the level after an attempt.
func (f feedback) after(level int64, success bool) int64 {
	if success {
		return min(level+f.ratio, f.max)
	}
	return max(level-token, 0)
}

// granted returns how many extra attempts are allowed before as many failures have taken the level down to the half, where
// none is.
func (f feedback) granted(level int64) int64 {
	return (max(level-f.max/2, 0) + token - 1) / token
}

// replenished is the rule of an allowance for each window of time. Its level is a line that each window moves on by the
// allowance and each attempt by 1, as if every window before had been used up: one number tells the window and what it has
// given. Instants are nanoseconds of the clock's. The arithmetic may wrap: only differences count.
type replenished struct {
	allowance, window int64
	origin            int64 // when the first window began
}

// used returns where the line of the window that now lies in begins, and what was taken of it.
//
// A level that the same clock has not reached yet was left by another one, such as that of a bubble that has ended, and
// counts for nothing: who reads the level before the clock sees no such level of the same clock.
func (r replenished) used(level, now int64) (begin, used int64) {
	begin = floorDiv(now-r.origin, r.window) * r.allowance
	used = level - begin
	if used < 0 || used > r.allowance {
		used = 0
	}
	return begin, used
}

// left returns what is left of the window.
func (r replenished) left(level, now int64) int64 {
	_, used := r.used(level, now)
	return r.allowance - used
}

// take returns the level after one more attempt; false if the window has given all.
func (r replenished) take(level, now int64) (next int64, ok bool) {
	begin, used := r.used(level, now)
	return begin + used + 1, used < r.allowance
}
