package resilience

import (
	"slices"
	"time"

	"github.com/telltale-go/telltale/events"
)

// breakerReader and limiterReader are gates of this package whose state can be read.
type breakerReader interface{ breakerReading() events.BreakerReading }

type limiterReader interface{ limiterReading() events.LimiterReading }

func (b *Breaker) breakerReading() events.BreakerReading         { return b.Snapshot() }
func (b *Bulkhead) limiterReading() events.LimiterReading        { return b.Snapshot() }
func (a *AdaptiveLimiter) limiterReading() events.LimiterReading { return a.Snapshot() }
func (l *RateLimiter) limiterReading() events.LimiterReading     { return l.Snapshot() }

// pastReading is what keys that are forgotten have left in counters, which must not fall.
type pastReading [len(events.BreakerReading{}.Spent)]time.Duration

func (p *pastReading) add(gate Gate) {
	if b, ok := gate.(breakerReader); ok {
		for state, d := range b.breakerReading().Spent {
			p[state] += d
		}
	}
}

// living returns the entries there are, that of the empty key apart, and what those before have left.
func (k *Keyed) living() ([]*keyedEntry, pastReading) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.ring), k.past
}

// breakers reads all of them as one. How many are in each state, calls and times add up; of the rest the greatest is
// told, and of the states the one that lets the fewest calls through.
func (k *Keyed) breakers() events.BreakerReading {
	entries, past := k.living()
	sum := events.BreakerReading{Spent: past, State: events.StateClosed}
	for _, e := range append(entries, k.rest) {
		b, ok := e.gate.(breakerReader)
		if !ok {
			continue
		}
		r := b.breakerReading()
		sum.In[r.State]++
		for state, d := range r.Spent {
			sum.Spent[state] += d
		}
		if strictness(r.State) > strictness(sum.State) {
			sum.State = r.State
		}
		sum.Calls += r.Calls
		sum.Failures += r.Failures
		sum.Seq = max(sum.Seq, r.Seq)
		sum.FailureRatio = max(sum.FailureRatio, r.FailureRatio)
		sum.Limit = max(sum.Limit, r.Limit)
		sum.Cooldown = max(sum.Cooldown, r.Cooldown)
		sum.Since = later(sum.Since, r.Since)
		sum.NextProbe = later(sum.NextProbe, r.NextProbe)
	}
	return sum
}

func strictness(s events.State) int {
	switch s {
	case events.StateForcedOpen:
		return 3
	case events.StateOpen:
		return 2
	case events.StateHalfOpen:
		return 1
	case events.StateClosed, events.StateDisabled:
	}
	return 0
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// limiters reads all of them as one: everything adds up.
func (k *Keyed) limiters() events.LimiterReading {
	entries, _ := k.living()
	var sum events.LimiterReading
	for _, e := range append(entries, k.rest) {
		if l, ok := e.gate.(limiterReader); ok {
			r := l.limiterReading()
			sum.Limit += r.Limit
			sum.Usage += r.Usage
			sum.Queued += r.Queued
		}
	}
	return sum
}
