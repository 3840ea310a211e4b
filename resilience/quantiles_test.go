package resilience

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// HDG-07: within 5 % of the true quantile, for whatever distribution, as far as the bounds reach.
func TestQuantilesAreNearlyThose(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for name, draw := range map[string]func() float64{
		"uniform":     func() float64 { return 1e6 + 99e6*rnd.Float64() },
		"exponential": func() float64 { return 1e6 + 20e6*rnd.ExpFloat64() },
		"log-normal":  func() float64 { return 20e6 * math.Exp(rnd.NormFloat64()) },
		"two modes":   func() float64 { return []float64{5e6, 5e6, 5e6, 500e6}[rnd.IntN(4)] },
		"constant":    func() float64 { return 42e6 },
	} {
		q := newQuantiles(time.Millisecond, 10*time.Second, int64(time.Minute))
		var all []float64
		for range 5000 {
			d := max(draw(), 1e6)
			all = append(all, d)
			q.add(time.Duration(d))
		}
		slices.Sort(all)
		for _, p := range []float64{0.5, 0.9, 0.95, 0.99} {
			want := all[int(math.Ceil(p*float64(len(all))))-1]
			if got := float64(q.at(p)); math.Abs(got/want-1) > 0.05 {
				t.Errorf("%s: the quantile %v is %v, want %v to 5 %%", name, p, time.Duration(got), time.Duration(want))
			}
		}
	}
}

// HDG-07: what lies beyond the bounds is counted, and no sample is too odd.
func TestQuantilesCountWhatLiesBeyondTheBounds(t *testing.T) {
	q := newQuantiles(time.Millisecond, time.Second, 1)
	for _, d := range []time.Duration{math.MinInt64, -1, 0, 1, time.Millisecond, time.Second, time.Hour, math.MaxInt64} {
		q.add(d)
	}
	if q.total() != 8 || q.at(0.5) > time.Millisecond || q.at(0.99) < 950*time.Millisecond {
		t.Errorf("%d samples, median %v, top %v", q.total(), q.at(0.5), q.at(0.99))
	}
	for _, bounds := range [][2]time.Duration{{1, 1}, {1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64}} {
		q := newQuantiles(bounds[0], bounds[1], 1)
		q.add(bounds[1])
		if got := q.at(0.5); got <= 0 || len(q.now.buckets) > 500 {
			t.Errorf("from %v to %v: %v, %d buckets", bounds[0], bounds[1], got, len(q.now.buckets))
		}
	}
}

// HDG-07, PIPE-26: half a window is remembered at least, a whole one at most; another clock forgets all.
func TestQuantilesForget(t *testing.T) {
	for _, origin := range []int64{0, -1 << 60, 1 << 60} {
		q := newQuantiles(1, 1000, 100)
		for _, step := range []struct {
			at, left int64
			changed  bool
		}{
			{0, 0, false}, {50, 1, false}, {99, 2, false},
			{100, 3, true}, // a new generation; all three remembered
			{199, 4, false},
			{200, 2, true},  // the first three are forgotten
			{160, 3, false}, // who read the clock before and came after
			{399, 2, true},  // of the generation from 300 on there is nothing yet, of that before there is
			{1000, 0, true}, {1099, 1, false}, {700, 0, true},
		} {
			changed := q.roll(origin + step.at)
			if q.total() != int(step.left) || changed != step.changed {
				t.Errorf("origin %d, at %d: %d samples, changed: %v; want %d, %v", origin, step.at, q.total(), changed, step.left, step.changed)
			}
			q.add(5)
		}
	}
}
