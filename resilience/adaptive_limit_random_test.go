package resilience

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// exponential is the service time of a server that forgets how long it has worked: as unequal as those of real ones.
func exponential(mean time.Duration, seed uint64) func() time.Duration {
	random := rand.New(rand.NewPCG(seed, 7))
	return func() time.Duration { return time.Duration(random.ExpFloat64() * float64(mean)) }
}

// lognormal has a longer tail: its standard deviation is 1.3 times the mean.
func lognormal(mean time.Duration, seed uint64) func() time.Duration {
	random := rand.New(rand.NewPCG(seed, 9))
	return func() time.Duration { return time.Duration(math.Exp(random.NormFloat64()-0.5) * float64(mean)) }
}

// meanOver returns the limit's mean over a span of the server's time, the probes included.
func meanOver(s *server, a *adaptation, span time.Duration) float64 {
	area, began := 0.0, s.at
	for s.at < began+int64(span) {
		at, limit := s.at, a.limit
		s.serve(a, 1, everybody)
		area += limit * float64(s.at-at)
	}
	return area / float64(s.at-began)
}

// LIM-08: with service times as unequal as those of real servers, from ten workers on the mean over the time, probes
// included, is within 20 % of the optimum; below, it is between one call less and one and a half more.
func TestAdaptationFindsTheOptimumOfUnequalCalls(t *testing.T) {
	for _, workers := range []int{1, 2, 5, 12, 50, 200} {
		for what, service := range map[string]func(time.Duration, uint64) func() time.Duration{"exponential": exponential, "lognormal": lognormal} {
			const seeds = 4
			mean := 0.0
			for seed := range uint64(seeds) {
				s := newServer(workers, service(20*time.Millisecond, seed))
				a := newAdaptation(20, 1, 1000, 0)
				s.serve(&a, 60, everybody)
				mean += meanOver(s, &a, 20*time.Second) / seeds
			}
			least, most := 0.8*float64(workers), 1.2*float64(workers)
			if workers < 10 {
				least, most = float64(workers-1), float64(workers)+1.5
			}
			if mean < least || mean > most {
				t.Errorf("%d workers, %s: the limit is %.1f", workers, what, mean)
			}
		}
	}
}

// LIM-08: after the service times of all calls have grown for good, as many run as before; and when they shrink again.
func TestAdaptationStaysWhenUnequalCallsSlowDownForGood(t *testing.T) {
	s := newServer(50, exponential(20*time.Millisecond, 4))
	a := newAdaptation(20, 1, 1000, 0)
	s.serve(&a, 60, everybody)
	s.service = exponential(60*time.Millisecond, 5)
	s.serve(&a, 60, everybody)
	if mean := meanOver(s, &a, 20*time.Second); mean < 40 || mean > 62 {
		t.Errorf("three times slower: %.1f", mean)
	}
	s.service = exponential(20*time.Millisecond, 6)
	s.serve(&a, 30, everybody)
	if mean := meanOver(s, &a, 5*time.Second); mean < 40 || mean > 62 {
		t.Errorf("fast again: %.1f", mean)
	}
}

// LIM-08: a tail of calls that time out whatever the load is no reason to stop calling.
func TestAdaptationLivesWithATailOfTimeouts(t *testing.T) {
	s := newServer(50, exponential(20*time.Millisecond, 8))
	s.limit = flat(60 * time.Millisecond) // one in twenty takes longer
	a := newAdaptation(20, 1, 1000, 0)
	s.serve(&a, 60, everybody)
	if mean := meanOver(s, &a, 20*time.Second); mean < 40 || mean > 60 {
		t.Errorf("with one in twenty that times out: %.1f", mean)
	}
	s.limit = flat(10 * time.Millisecond) // most do
	s.serve(&a, 60, everybody)
	if a.limit > 12 {
		t.Errorf("with most that time out: %.1f", a.limit)
	}
}
