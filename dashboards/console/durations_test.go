package console

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestABucketsMiddleIsAtMostASixteenthOff(t *testing.T) {
	for d := time.Duration(1 << leastPower); d < 1<<mostPower; d += d/50 + 1 {
		m := middle(bucketOf(d))
		if off := math.Abs(float64(m-d)) / float64(d); off > 0.0626 {
			t.Fatalf("%v is counted as %v: %.3f off", d, m, off)
		}
	}
	for d, want := range map[time.Duration]int{math.MinInt64: 0, -1: 0, 0: 0, 1: 0, math.MaxInt64: buckets - 1, 1 << mostPower: buckets - 1, 1<<mostPower - 1: buckets - 1} {
		if got := bucketOf(d); got != want {
			t.Errorf("%v is in bucket %d, want %d", d, got, want)
		}
	}
	for b := range buckets {
		if bucketOf(middle(b)) != b {
			t.Errorf("the middle of bucket %d is in bucket %d", b, bucketOf(middle(b)))
		}
	}
}

func TestQuantilesAreThoseOfTheSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		n := 1 + r.IntN(500)
		counts, samples := make([]uint64, buckets), make([]time.Duration, n)
		for i := range samples {
			samples[i] = time.Duration(math.Exp(r.Float64()*12+10)) + 1<<leastPower
			counts[bucketOf(samples[i])]++
		}
		slices.Sort(samples)
		for _, q := range []float64{0.5, 0.99, 1} {
			want := samples[int(math.Ceil(q*float64(n)))-1]
			if got := quantile(counts, q); math.Abs(float64(got-want))/float64(want) > 0.0626 {
				t.Fatalf("quantile %v of %d samples is %v, want %v", q, n, got, want)
			}
		}
	}
	if quantile(make([]uint64, buckets), 0.5) != 0 {
		t.Error("there is a quantile of nothing")
	}
}
