package resilience

import (
	"math/rand/v2"
	"testing"
)

// BRK-03: it counts as the end of a list of all calls does, however the successes are told.
func TestRingCountsTheLastCalls(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, size := range []int{1, 2, 63, 64, 65, 100, 1000} {
		r := newRing(int32(size), size != 100)
		var all []tally
		for range 3 * size {
			switch random.Uint32N(20) {
			case 0:
				n := random.Int64N(int64(2*size + 2))
				r.succeeded(n)
				for range n {
					all = append(all, tally{calls: 1})
				}
			case 1:
				if random.Uint32N(10) == 0 {
					r.clear()
					all = nil
				}
			default:
				one := tallyOf(random.Uint32N(2) == 0, size != 100 && random.Uint32N(3) == 0)
				r.add(one)
				all = append(all, one)
			}
			var want tally
			for _, c := range all[max(0, len(all)-size):] {
				want.calls++
				want.failures += c.failures
				want.slow += c.slow
			}
			if r.counts != want {
				t.Fatalf("size %d, %d calls: %+v, want %+v", size, len(all), r.counts, want)
			}
		}
	}
}
