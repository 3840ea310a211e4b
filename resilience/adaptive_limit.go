package resilience

import (
	"math"
	"time"
)

// adaptation finds how many calls a dependency serves at once without queueing them, by how long they take: a state machine
// without lock, clock or events. Instants are readings of the clock, spans nanoseconds.
//
// It is TCP Vegas (Brakmo, O'Malley, Peterson: New Techniques for Congestion Detection and Avoidance, SIGCOMM 1994) in the
// form that Netflix's concurrency-limits gave it (VegasLimit, Gradient2Limit): if a call takes base without a queue and
// latency now, then of limit calls under way limit x base/latency are worked on, and the others queue. The next limit is
// those that are worked on and a headroom, which is the queue it keeps, and how it grows where there is none.
//
// Neither of the two says how base is found once the limit is always in use. Here, as in the adaptive concurrency filter of
// Envoy, fewer calls are let in for a round now and then. If they take less time, the queue was theirs, and base is what they
// take; if they take as long, the dependency is slower by itself, and base moves there, by and by.
//
// It goes by rounds. A round measures calls that begin after the limit was set, since only they are under it, until nineteen
// of twenty have ended, so that one that hangs holds up nothing. A latency counts as outlier times base at most.
type adaptation struct {
	min, max float64
	limit    float64
	base     float64 // of a call without a queue; 0: not known yet
	warm     bool    // it has met no queue yet, and grows faster
	low      float64 // the limit that it last fell to, but for probes
	calm     int     // rounds to come without growth, after calls were turned away or timed out
	untested int     // rounds in use since base was looked for
	every    int     // after how many of them it is looked for again
	probe    probe
	last     step // what the last round in use found
	patience int64
	round    round
}

// probe is a look for base, in one round or more.
type probe struct {
	on   bool
	from step    // where it began
	part float64 // of the limit before, that is let in
}

// step is a limit and what it led to.
type step struct {
	limit, latency float64
	vague          float64 // the standard error of the latency, as a part of it
}

const (
	// outlier is how many times base a latency counts at most.
	outlier = 4
	// headroom is the part of the limit that is added, leastHeadroom the least in calls: less than one, so that a limit of
	// few calls is one more for a part of the time only.
	headroom, leastHeadroom = 0.05, 0.6
	// inUse is the part of the limit that must be under way for a round to tell anything about it.
	inUse = 0.75
	// warmGrowth is how the limit grows until a queue leaves less than stillWarm of it, and again when it has grown by
	// regrown without one.
	warmGrowth, stillWarm, regrown = 1.5, 0.8, 1.5
	// steepest is how much of the limit is left when a round ends, at least; gentlest, if calls were turned away in it.
	steepest, gentlest = 0.5, 0.9
	// probeStep is the part of the limit that is let in to find base; a latency or limit below improved of the one before has
	// changed.
	probeStep, improved = 0.75, 0.9
	// probeFirst and probeEvery are after how many rounds in use base is looked for: often at first, then twice as far apart
	// each time. After a rise of base without a probe it is probeSoon at most, and at once below slid of the limit that
	// was probed last: a base that is a little too low would have the limit slide on and on.
	probeFirst, probeSoon, probeEvery, slid = 1, 8, 64, 0.8
	// calmRounds is how many rounds do not grow after one in which more than tolerated were turned away or
	// timed out.
	calmRounds, tolerated = 10, 0.1

	minSampled, maxSampled = 50, 250
	// minRound is how far apart the beginnings of rounds are, and how long one measures what begins, minPatience how long it
	// waits for its calls at least.
	minRound, minPatience = int64(100 * time.Millisecond), int64(time.Second)
	// longestRound is the most that a round waits, and the longest latency that counts.
	longestRound = int64(time.Hour)
)

func newAdaptation(initial, least, most int, at int64) adaptation {
	a := adaptation{min: float64(least), max: float64(most), limit: float64(initial), warm: true, every: probeFirst, patience: minPatience}
	a.open(at)
	return a
}

// open begins the next round.
func (a *adaptation) open(at int64) {
	sampled := min(max(int(a.limit), minSampled), maxSampled)
	a.round = round{number: a.round.number + 1, began: at, sampled: sampled}
}

// wakes tells when there is something to do: at once while the round wants calls to measure, else when its patience ends.
func (a *adaptation) wakes() int64 {
	if !a.round.full {
		return a.round.began
	}
	return a.round.began + a.patience
}

// begin tells of a call that begins, with so many under way; the round that measures it, 0 if none does.
func (a *adaptation) begin(at, running int64) (round int64) {
	r := &a.round
	if at-r.began < 0 {
		return 0
	}
	if r.full = r.closed(at); r.full {
		return 0
	}
	r.begun++
	r.full = r.begun >= maxSampled
	r.peak = max(r.peak, running)
	return r.number
}

// callEnd is how a measured call ended.
type callEnd uint8

const (
	callAnswered   callEnd = 1 + iota // its latency counts
	callTurnedAway                    // by the dependency, because of the load
	callTimedOut                      // it was given up after too long
	callUnknown                       // it tells nothing about the load
)

// end tells that a call ended which the round measures, and whether that ended the round.
func (a *adaptation) end(round, at, latency int64, how callEnd) (next bool) {
	r := &a.round
	if round != r.number {
		return false
	}
	r.ended++
	took := float64(min(max(latency, 1), longestRound))
	switch how {
	case callAnswered:
		r.answered++
		r.measured(took, a.base)
	case callTurnedAway:
		r.turnedAway++
	case callTimedOut:
		if took >= a.base { // a shorter limit tells nothing
			r.timedOut++
			r.measured(took, a.base)
		}
	case callUnknown:
	}
	return a.look(at)
}

// look ends the round if it is complete, or has lasted too long.
func (a *adaptation) look(at int64) (next bool) {
	r := &a.round
	lasted := at - r.began
	switch {
	case lasted < 0 || lasted > 2*longestRound: // another clock
		a.open(at)
	case r.begun >= r.sampled && (r.ended == r.begun || r.closed(at) && r.ended*20 >= r.begun*19):
		a.conclude(at)
	case lasted < a.patience:
		return false
	case r.ended*2 >= max(r.begun, r.sampled):
		a.conclude(at)
	default: // too few calls, or they hang: it measures others, with more patience
		a.patience = min(2*a.patience, longestRound)
		a.open(at)
	}
	return true
}

// conclude sets the limit by what the round has found.
func (a *adaptation) conclude(at int64) {
	r := &a.round
	a.limit = min(max(a.next(r), a.min), a.max)
	a.patience = minPatience
	if a.base > 0 {
		a.patience = int64(min(max(10*max(a.base, a.last.latency), float64(minPatience)), float64(longestRound)))
	}
	a.open(max(at, r.began+minRound)) // until then no call is measured
}

// next returns the limit that follows from a round.
func (a *adaptation) next(r *round) float64 {
	if a.calm > 0 {
		a.calm--
	}
	if r.turnedAway > 0 || float64(r.timedOut) > tolerated*float64(r.answered+r.timedOut) {
		a.probe.on = false
		return a.backOff(r)
	}
	if r.answered == 0 || r.number == 1 { // of the first, all calls may have come at once, to an idle dependency
		return a.limit
	}
	found := r.found(a.limit)
	if a.probe.on {
		return a.probed(found)
	}
	a.learn(found)
	if !r.refused && float64(r.peak) < inUse*math.Floor(a.limit) {
		return a.limit // the limit has had no part in it
	}
	vain := a.last.latency > 0 && found.limit <= improved*a.last.limit && found.latency > 0.95*a.last.latency
	a.last = found
	if vain && found.latency > a.base { // fewer calls take as long: it is not their queue, or not theirs alone
		a.base += (found.latency - a.base) / 2
		a.untested, a.every = 0, min(a.every, probeSoon) // or calls of before a loss of capacity have made it look so
		return a.limit
	}
	if found.latency > 2*a.base { // much has changed
		a.every = probeFirst
	}
	if a.untested++; (a.untested >= a.every || found.limit < slid*a.probe.from.limit) && a.limit > a.min {
		a.probe = probe{on: true, from: found, part: probeStep}
		return probeStep * a.limit
	}
	return a.follow(found)
}

// learn moves base to a latency that is less than it, or that the lowest limit has.
func (a *adaptation) learn(found step) {
	switch {
	case a.base == 0:
		a.base = found.latency
	case found.latency*(1+2*found.vague) < a.base:
		a.base = found.latency * (1 + 2*found.vague)
	case found.limit <= a.min:
		a.base += (found.latency - a.base) / 4
	}
}

// probed ends the probe, or goes on with it as long as fewer calls take less time: less than the cube root of the part
// of them, so that noise, or the end of the queue, does not look like a queue. Each step squares the part of the one before.
func (a *adaptation) probed(found step) float64 {
	before := a.last
	a.last = found
	if found.latency*(1+found.vague) < math.Cbrt(a.probe.part)*before.latency {
		a.base = min(a.base, found.latency*(1+found.vague))
		if found.limit > a.min {
			a.probe.part *= a.probe.part
			return a.probe.part * found.limit
		}
	}
	a.base += (found.latency - a.base) / 2
	a.probe.on, a.untested, a.every = false, 0, min(2*a.every, probeEvery)
	a.last = a.probe.from
	return a.follow(a.probe.from)
}

// follow returns the limit that follows from a limit in use.
func (a *adaptation) follow(s step) float64 {
	worked := min(1, (1+s.vague)*a.base/s.latency)
	if a.warm = a.warm && worked > stillWarm; a.warm {
		return warmGrowth * s.limit
	}
	limit := s.limit * max(worked, steepest)
	switch {
	case a.calm > 0:
	case a.low > 0 && s.limit > regrown*a.low && worked > improved:
		return warmGrowth * s.limit
	default:
		limit += max(leastHeadroom, headroom*s.limit)
	}
	if limit < s.limit || a.low == 0 {
		a.low = limit
	}
	return limit
}

// backOff returns the limit after a round in which calls were turned away, or timed out: it falls by their share, and for a
// dependency that turns away what it cannot do, and so does not suffer, not by much.
func (a *adaptation) backOff(r *round) float64 {
	dropped := r.turnedAway + r.timedOut
	share := float64(dropped) / float64(r.answered+dropped)
	if share > tolerated {
		a.calm = calmRounds
	}
	a.warm = false
	left := steepest
	if r.turnedAway > r.timedOut {
		left = gentlest
	}
	return a.limit * max(1-share, left)
}
