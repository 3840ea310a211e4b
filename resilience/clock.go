package resilience

import "time"

// origin is where the clock of the hot path counts from.
var origin = time.Now()

// now reads the monotonic clock, in nanoseconds since origin. In a synctest bubble readings may be negative and differ
// from those outside by years: they are compared by their difference alone, and none of them means "never".
func now() int64 { return int64(time.Since(origin)) }
