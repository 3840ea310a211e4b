package resilience

import (
	"math"
	"time"
)

// quantiles estimates quantiles of the durations of the last while. It counts them in buckets, each growth times as wide
// as the one before, as DDSketch does (Masson, Rim, Lee, "DDSketch: A Fast and Fully-Mergeable Quantile Sketch with
// Relative-Error Guarantees", VLDB 2019), between two bounds beyond which nobody asks how far. It forgets in two
// generations. Its owner guards it.
type quantiles struct {
	width     int64   // of a generation, in nanoseconds
	since     int64   // when the present one began; meaningful unless there are no samples
	least     float64 // the upper edge of the first bucket, in nanoseconds
	now, past generation
}

type generation struct {
	buckets []uint32
	samples int
}

// growth makes an estimate at most (growth-1)/(growth+1) off: 4.8 %.
const growth = 1.1

var logGrowth = math.Log(growth)

func newQuantiles(least, most time.Duration, width int64) quantiles {
	n := int(math.Ceil(math.Log(float64(most)/float64(least))/logGrowth)) + 1
	return quantiles{width: width, least: float64(least),
		now: generation{buckets: make([]uint32, n)}, past: generation{buckets: make([]uint32, n)}}
}

func (q *quantiles) add(d time.Duration) {
	i := 0
	if over := float64(d) / q.least; over > 1 {
		i = min(int(math.Ceil(math.Log(over)/logGrowth)), len(q.now.buckets)-1)
	}
	if q.now.buckets[i] == math.MaxUint32 {
		return // full: the shares stay what they are
	}
	q.now.buckets[i]++
	q.now.samples++
}

func (q *quantiles) total() int { return q.now.samples + q.past.samples }

// at returns the estimate of the quantile p: the middle of the bucket in which that sample lies, of
// the first its edge.
func (q *quantiles) at(p float64) time.Duration {
	rank := int(math.Ceil(p * float64(q.total())))
	for i := range q.now.buckets {
		if rank -= int(q.now.buckets[i]) + int(q.past.buckets[i]); rank <= 0 {
			d := q.least * math.Pow(growth, float64(i))
			if i > 0 {
				d *= 2 / (growth + 1)
			}
			return time.Duration(min(d, math.MaxInt64/2))
		}
	}
	return 0
}

// roll forgets what is too old, and tells whether that changed anything. A clock that goes back by more than a
// generation is another clock (another synctest bubble): everything is forgotten.
func (q *quantiles) roll(now int64) bool {
	age := now - q.since
	switch {
	case q.total() == 0:
		q.since = now
		return false
	case age >= -q.width && age < q.width:
		return false
	case age >= q.width && age < 2*q.width:
		q.now, q.past = q.past, q.now
		q.since += q.width
	default:
		q.past.clear()
		q.since = now
	}
	q.now.clear()
	return true
}

func (g *generation) clear() {
	clear(g.buckets)
	g.samples = 0
}
