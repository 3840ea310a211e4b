package resilience

import (
	"container/heap"
	"slices"
	"testing"
	"time"
)

// everySeed runs a scenario with services of unequal calls, and returns what it measured, sorted.
func everySeed(seeds int, run func(service func(time.Duration, uint64) func() time.Duration, seed uint64) float64) []float64 {
	var found []float64
	for seed := range uint64(seeds) {
		found = append(found, run(exponential, seed), run(lognormal, seed))
	}
	slices.Sort(found)
	return found
}

// until returns the seconds of the server's time until the limit is as wanted, at most so many.
func until(s *server, a *adaptation, most float64, wanted func(limit float64) bool) float64 {
	began := s.at
	for !wanted(a.limit) && float64(s.at-began) < most*1e9 {
		s.serve(a, 1, everybody)
	}
	return float64(s.at-began) / 1e9
}

// LIM-08: from one call at once to the four hundred that 500 workers are worth within 16 s, and mostly within 8.
func TestAdaptationGrowsFromOne(t *testing.T) {
	took := everySeed(4, func(service func(time.Duration, uint64) func() time.Duration, seed uint64) float64 {
		a := newAdaptation(1, 1, 1000, 0)
		return until(newServer(500, service(20*time.Millisecond, seed)), &a, 60, func(limit float64) bool { return limit >= 400 })
	})
	if took[len(took)/2] > 8 || took[len(took)-1] > 16 {
		t.Errorf("it took %.1f s", took)
	}
}

// LIM-08: five times the capacity is mostly in use after 3 s.
func TestAdaptationGrowsAgain(t *testing.T) {
	took := everySeed(4, func(service func(time.Duration, uint64) func() time.Duration, seed uint64) float64 {
		s := newServer(100, service(20*time.Millisecond, seed))
		a := newAdaptation(20, 1, 1000, 0)
		s.serve(&a, 300, everybody)
		s.resize(500)
		return until(s, &a, 60, func(limit float64) bool { return limit >= 400 })
	})
	if took[len(took)/2] > 3 || took[len(took)-1] > 10 {
		t.Errorf("it took %.1f s", took)
	}
}

// LIM-08: the queue that an initial limit of 800 makes before one or two workers takes 16 s to be worked off by itself.
func TestAdaptationComesDownFromFarTooMuch(t *testing.T) {
	for workers, most := range map[int]float64{1: 110, 2: 55, 10: 9} {
		took := everySeed(2, func(service func(time.Duration, uint64) func() time.Duration, seed uint64) float64 {
			a := newAdaptation(800, 1, 1000, 0)
			return until(newServer(workers, service(20*time.Millisecond, seed)), &a, 400, func(limit float64) bool { return limit <= float64(workers+4) })
		})
		if took[len(took)-1] > most {
			t.Errorf("%d workers: it took %.1f s", workers, took)
		}
	}
}

// LIM-08: when four of five workers are gone, at whatever time, the limit is right within 40 rounds, and stays.
func TestAdaptationFollowsALossOfFourFifths(t *testing.T) {
	const workers, left = 50, 10
	var found []float64
	lose := func(service func() time.Duration, calls int) {
		s := newServer(workers, service)
		a := newAdaptation(20, 1, 1000, 0)
		s.serve(&a, 150+calls, everybody)
		for range 11 * calls { // part of a round
			c := heap.Pop(&s.calls).(simCall)
			s.at = c.end
			a.end(c.round, s.at, s.at-c.began, c.how)
			s.call(a.begin(s.at, int64(len(s.calls)+1)))
		}
		slices.Sort(s.free)
		slices.Reverse(s.free) // the busiest stay
		s.resize(left)
		s.serve(&a, 40, everybody)
		found = append(found, meanOver(s, &a, 3*time.Second)/left)
	}
	for i := range 12 {
		lose(flat(20*time.Millisecond), i)
		lose(exponential(20*time.Millisecond, uint64(i)), i)
		lose(lognormal(20*time.Millisecond, uint64(i)), i)
	}
	slices.Sort(found)
	if found[0] < 0.7 || found[len(found)-1] > 1.5 {
		t.Errorf("the limit is %.2f times what is left", found)
	}
}

// LIM-08: a measurement of base that is too low does not have the limit slide down and down.
func TestAdaptationDoesNotSlideDown(t *testing.T) {
	lowest := everySeed(3, func(service func(time.Duration, uint64) func() time.Duration, seed uint64) float64 {
		s := newServer(100, service(20*time.Millisecond, seed))
		a := newAdaptation(20, 1, 1000, 0)
		s.serve(&a, 300, everybody)
		a.base *= 0.85
		lowest := a.limit
		for range 60 {
			s.serve(&a, 1, everybody)
			if !a.probe.on {
				lowest = min(lowest, a.limit)
			}
		}
		return lowest
	})
	if lowest[0] < 35 || lowest[len(lowest)/2] < 70 {
		t.Errorf("the limit fell to %.0f of 100", lowest)
	}
}
