package resilience

import (
	"math"
	"testing"
	"time"
)

const everybody = math.MaxInt

// settles checks that over so many rounds the limit is within 20 % of the optimum, but for the probes below it.
func settles(t *testing.T, what string, s *server, a *adaptation, rounds, optimum int) {
	t.Helper()
	sum, n := 0.0, 0.0
	for range rounds {
		s.serve(a, 1, everybody)
		if a.probe.on {
			continue
		}
		sum, n = sum+a.limit, n+1
	}
	if mean := sum / n; mean < 0.8*float64(optimum) || mean > 1.2*float64(optimum) {
		t.Errorf("%s: the limit is %.1f, the optimum %d", what, mean, optimum)
	}
}

// LIM-08: wherever it starts, within 60 rounds it is at what a server of so many workers can serve at once.
func TestAdaptationFindsTheOptimum(t *testing.T) {
	for _, c := range []struct {
		workers, initial int
		service          func() time.Duration
	}{
		{10, 1, flat(20 * time.Millisecond)}, {10, 20, flat(20 * time.Millisecond)}, {50, 20, flat(20 * time.Millisecond)},
		{50, 400, flat(20 * time.Millisecond)}, {200, 20, flat(20 * time.Millisecond)}, {200, 400, flat(time.Millisecond)},
		{50, 1, flat(3 * time.Second)}, {50, 20, spread(20 * time.Millisecond)}, {200, 20, spread(20 * time.Millisecond)},
		{200, 1, spread(5 * time.Millisecond)}, {20, 300, spread(200 * time.Millisecond)}, {500, 20, spread(20 * time.Millisecond)},
	} {
		s := newServer(c.workers, c.service)
		a := newAdaptation(c.initial, 1, 1000, 0)
		s.serve(&a, 60, everybody)
		settles(t, time.Duration(c.service()).String(), s, &a, 100, c.workers)
	}
}

// LIM-08: half the workers, so that calls take twice as long at the same limit; then all of them again.
func TestAdaptationFallsWithTheCapacityAndRecovers(t *testing.T) {
	s := newServer(100, spread(20*time.Millisecond))
	a := newAdaptation(20, 1, 1000, 0)
	s.serve(&a, 60, everybody)
	settles(t, "before", s, &a, 20, 100)
	s.resize(30)
	s.serve(&a, 6, everybody)
	if a.limit > 60 {
		t.Errorf("six rounds after the capacity fell to 30 the limit is %.1f", a.limit)
	}
	s.serve(&a, 60, everybody)
	settles(t, "with less capacity", s, &a, 50, 30)
	s.resize(100)
	s.serve(&a, 80, everybody)
	settles(t, "after", s, &a, 50, 100)
}

// LIM-08: calls take longer although none queues. The limit falls, but not to nothing, since that does not help.
func TestAdaptationFallsWhenLatencyGrowsAndRecovers(t *testing.T) {
	for _, slower := range []time.Duration{2, 5, 20} {
		s := newServer(100, flat(10*time.Millisecond))
		a := newAdaptation(20, 1, 1000, 0)
		s.serve(&a, 60, everybody)
		before := a.limit
		s.service = flat(slower * 10 * time.Millisecond)
		s.serve(&a, 5, everybody)
		fallen := a.limit
		if fallen > 0.75*before || fallen < 0.1*before {
			t.Errorf("%d times slower: from %.1f to %.1f", slower, before, fallen)
		}
		s.service = flat(10 * time.Millisecond)
		s.serve(&a, 60, everybody)
		settles(t, "after", s, &a, 50, 100)

		s.service = flat(slower * 10 * time.Millisecond) // for good
		s.serve(&a, 500, everybody)
		settles(t, "slow for good", s, &a, 50, 100)
	}
}

// LIM-08: what the server turns away, and what takes too long, is load that is too much.
func TestAdaptationBacksOffFromDroppedCalls(t *testing.T) {
	s := newServer(200, flat(20*time.Millisecond))
	s.full = 50
	a := newAdaptation(20, 1, 1000, 0)
	s.serve(&a, 60, everybody)
	settles(t, "turned away beyond 50", s, &a, 200, 50)

	s = newServer(50, flat(100*time.Millisecond))
	s.limit = flat(300 * time.Millisecond)
	a = newAdaptation(1000, 1, 1000, 0)
	s.serve(&a, 60, everybody)
	settles(t, "timeouts", s, &a, 100, 50)

	// One in a thousand hangs until its limit: that is not load.
	n := 0
	s = newServer(50, func() time.Duration {
		if n++; n%1000 == 0 {
			return time.Minute
		}
		return 10 * time.Millisecond
	})
	s.limit = flat(time.Second)
	s.free = append(s.free, 0, 0, 0, 0) // those that hang take workers
	a = newAdaptation(20, 1, 1000, 0)
	s.serve(&a, 200, everybody)
	if a.limit < 20 {
		t.Errorf("with one in a thousand that hangs the limit is %.1f", a.limit)
	}
}

// LIM-08: a limit that nobody needs does not grow, nor is base looked for.
func TestAdaptationDoesNotGrowUnused(t *testing.T) {
	s := newServer(1000, flat(10*time.Millisecond))
	a := newAdaptation(100, 1, 1000, 0)
	s.serve(&a, 200, 50)
	if a.limit != 100 {
		t.Errorf("with 50 calls at once the limit is %.1f", a.limit)
	}
	s.serve(&a, 20, everybody)
	if a.limit < 200 {
		t.Errorf("when more come it is %.1f", a.limit)
	}
}

// LIM-08
func TestAdaptationStaysWithinItsBounds(t *testing.T) {
	s := newServer(100, flat(10*time.Millisecond))
	a := newAdaptation(60, 40, 80, 0)
	for _, workers := range []int{100, 5, 1000} {
		s.resize(workers)
		for range 200 {
			s.serve(&a, 1, everybody)
			if a.limit < 40 || a.limit > 80 {
				t.Fatalf("%.1f", a.limit)
			}
		}
		if want := map[int]float64{100: 80, 5: 40, 1000: 80}[workers]; math.Abs(a.limit-want) > 0.25*want {
			t.Errorf("%d workers: %.1f", workers, a.limit)
		}
	}
}

// LIM-08: calls that never end hold up no round, if they are few; if they are many, the next round measures others.
func TestAdaptationGoesOnWhileCallsHang(t *testing.T) {
	for _, every := range []int{25, 3} {
		s := newServer(1000, flat(10*time.Millisecond))
		n := 0
		s.service = func() time.Duration {
			if n++; n%every == 0 && n < 300 {
				return 24 * time.Hour
			}
			return 10 * time.Millisecond
		}
		a := newAdaptation(200, 1, 1000, 0)
		s.serve(&a, 20, everybody)
		if s.at > int64(time.Hour) || a.limit < 300 {
			t.Errorf("every %dth hangs: the limit is %.1f after %v", every, a.limit, time.Duration(s.at))
		}
	}
}
