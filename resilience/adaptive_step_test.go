package resilience

import (
	"testing"
	"time"
)

// play has a limit that is in use measure calls that take so long, until the round ends; the instant after.
func play(a *adaptation, at int64, took time.Duration, how func(i int) callEnd) int64 {
	at = max(at, a.round.began)
	for i, number := 0, a.round.number; a.round.number == number; i++ {
		round := a.begin(at, int64(a.limit))
		at += int64(took)
		a.end(round, at, int64(took), how(i))
	}
	return at
}

func answered(int) callEnd { return callAnswered }

// LIM-08: after a round in which more than a tenth were turned away, there is no growth for ten.
func TestAdaptationDoesNotGrowSoonAfterRefusals(t *testing.T) {
	a := newAdaptation(60, 1, 1000, 0)
	at := play(&a, 0, 10*time.Millisecond, func(i int) callEnd {
		if i%5 == 0 {
			return callTurnedAway
		}
		return callAnswered
	})
	fallen := a.limit
	for range calmRounds - 1 {
		if at = play(&a, at, 10*time.Millisecond, answered); a.limit > fallen || fallen >= 60 {
			t.Fatalf("from %.1f to %.1f", fallen, a.limit)
		}
	}
	for range 10 {
		at = play(&a, at, 10*time.Millisecond, answered)
	}
	if a.limit <= fallen {
		t.Errorf("it stays at %.1f", a.limit)
	}
}

// LIM-08: a look for base is over when calls are turned away.
func TestAdaptationProbesNoMoreWhenCallsAreTurnedAway(t *testing.T) {
	a := newAdaptation(60, 1, 1000, 0)
	at := int64(0)
	for !a.probe.on {
		at = play(&a, at, 10*time.Millisecond, answered)
	}
	if play(&a, at, 10*time.Millisecond, func(int) callEnd { return callTurnedAway }); a.probe.on {
		t.Error("it goes on")
	}
}

// LIM-08: at the lowest limit there is nothing to probe, and base is what calls take.
func TestAdaptationLearnsAtItsLowestLimit(t *testing.T) {
	a := newAdaptation(5, 5, 5, 0)
	at := int64(0)
	for i, took := range []time.Duration{10 * time.Millisecond, 40 * time.Millisecond} {
		for range 20 {
			if at = play(&a, at, took, answered); a.probe.on || a.limit != 5 {
				t.Fatalf("probe %v, limit %.1f", a.probe.on, a.limit)
			}
		}
		if base := time.Duration(a.base); base < took*9/10 || base > took*11/10 {
			t.Errorf("%d: base is %v", i, base)
		}
	}
}

// LIM-08: calls that time out sooner than a call takes say nothing of the load.
func TestAdaptationIgnoresTimeoutsThatAreTooShort(t *testing.T) {
	a := newAdaptation(60, 1, 1000, 0)
	at := int64(0)
	for a.base == 0 {
		at = play(&a, at, 10*time.Millisecond, answered)
	}
	before := a.limit
	if play(&a, at, 2*time.Millisecond, func(int) callEnd { return callTimedOut }); a.limit != before {
		t.Errorf("from %.1f to %.1f", before, a.limit)
	}
}

// LIM-08, PIPE-26: a round that another clock ends tells nothing.
func TestAdaptationDropsTheRoundOfAnotherClock(t *testing.T) {
	a := newAdaptation(60, 1, 1000, 0)
	at := play(&a, 0, 10*time.Millisecond, answered)
	for range 40 {
		round := a.begin(at, 60)
		at += int64(10 * time.Millisecond)
		a.end(round, at, int64(10*time.Millisecond), callAnswered)
	}
	if number := a.round.number; !a.look(at+3*longestRound) || a.round.number != number+1 || a.base != 0 {
		t.Errorf("base is %v", time.Duration(a.base))
	}
}
