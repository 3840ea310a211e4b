package console

import (
	"math"
	"math/bits"
	"time"
)

// Durations are counted in buckets: each power of two of nanoseconds is cut into eighths, so that a bucket is at most an
// eighth wide and its middle at most 6.25 % off. Below the first and above the last nobody asks how far.
const (
	leastPower = 13 // 8 µs
	mostPower  = 38 // 275 s
	eighths    = 8
	buckets    = (mostPower-leastPower)*eighths + 1
)

// bucketOf returns the bucket of a duration.
func bucketOf(d time.Duration) int {
	if d < 1<<leastPower {
		return 0
	}
	power := bits.Len64(uint64(d)) - 1
	if power >= mostPower {
		return buckets - 1
	}
	eighth := int(uint64(d)>>(power-3)) & (eighths - 1)
	return 1 + (power-leastPower)*eighths + eighth
}

// middle returns the middle of a bucket; of the last one its lower end, which it shares with the one before.
func middle(bucket int) time.Duration {
	if bucket == 0 {
		return 1 << (leastPower - 1)
	}
	power, eighth := (bucket-1)/eighths+leastPower, (bucket-1)%eighths
	width := time.Duration(1) << (power - 3)
	return time.Duration(1)<<power + time.Duration(eighth)*width + width/2
}

// quantile returns the duration below which the share q of the counted ones lies, 0 if there are none.
func quantile(counts []uint64, q float64) time.Duration {
	var all uint64
	for _, n := range counts {
		all += n
	}
	if all == 0 {
		return 0
	}
	rank := uint64(math.Ceil(q * float64(all)))
	var seen uint64
	for i, n := range counts {
		if seen += n; seen >= rank && seen > 0 {
			return middle(i)
		}
	}
	return middle(len(counts) - 1)
}
