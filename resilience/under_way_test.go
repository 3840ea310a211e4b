package resilience

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// BRK-04: never early, at most a quarter of the limit late, and each call once, whenever it ends.
func TestFlightCountsACallAsSlowOnceItHasExceededTheLimit(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		limit := 1 + random.Int64N(1<<random.Uint32N(20))
		width, now := slotWidth(limit), random.Int64N(1<<40)-1<<39
		f := underWay{start: now}
		var under []int64
		for range 200 {
			now += random.Int64N(limit)/4 + random.Int64N(2)
			if len(under) > 0 && random.Uint32N(3) == 0 {
				i := random.IntN(len(under))
				f.leave(under[i], now, width)
				under = slices.Delete(under, i, i+1)
			} else {
				f.enter(now, width)
				under = append(under, now)
			}
			at := now + random.Int64N(2*limit)
			var sure, possible int64
			for _, began := range under {
				if at-began >= 5*width { // a quarter more, but for rounding
					sure++
				}
				if at-began > limit {
					possible++
				}
			}
			hung, since := f.at(at, width)
			if hung < sure || hung > possible || since > at {
				t.Fatalf("limit %d: %d are slow, since %d of %d; want %d to %d", limit, hung, since, at, sure, possible)
			}
		}
		for _, began := range under {
			f.leave(began, now, width)
		}
		if f.hung != 0 || f.young != [underWaySlots]uint32{} {
			t.Fatalf("all have left, but %+v", f)
		}
	}
}

// PIPE-26: the calls of another clock are forgotten, and their ends take nothing away that does not exist.
func TestFlightSurvivesAnotherClock(t *testing.T) {
	f := underWay{}
	f.enter(1000, 10)
	f.enter(-1000, 10)
	f.leave(1000, -1000, 10)
	f.leave(1000, -1000, 10)
	f.leave(-1000, 5000, 10)
	if f.hung != 0 || f.young != [underWaySlots]uint32{} {
		t.Errorf("%+v is left", f)
	}
	f.enter(5000, 10)
	if hung, _ := f.at(5100, 10); hung != 1 {
		t.Errorf("%d are slow, want 1", hung)
	}
}

// BRK-10: reading changes nothing.
func TestReadingTheFlightChangesNothing(t *testing.T) {
	f := underWay{}
	f.enter(5, 10)
	before := f
	f.at(1000, 10)
	f.at(-1000, 10)
	if f != before {
		t.Errorf("%+v, before %+v", f, before)
	}
}
