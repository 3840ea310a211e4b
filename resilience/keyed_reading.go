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

// all returns the entries there are, that of the empty key last, and what those before have left. There are none before
// NewKeyed is done, when somebody who is told of the source may read it already.
func (k *Keyed) all() ([]*keyedEntry, pastReading) {
	if k.buckets.Load() == nil {
		return nil, pastReading{}
	}
	entries, past := k.living()
	return append(entries, k.rest), past
}

// readings reads each of them.
func (k *Keyed) readings(yield func(events.KeyReading) bool) {
	entries, _ := k.all()
	for _, e := range entries {
		r := events.KeyReading{Key: e.key}
		if b, ok := e.gate.(breakerReader); ok {
			breaker := b.breakerReading()
			r.Breaker = &breaker
		}
		if l, ok := e.gate.(limiterReader); ok {
			limiter := l.limiterReading()
			r.Limiter = &limiter
		}
		if !yield(r) {
			return
		}
	}
}

// breakers reads all of them as one. How many are in each state, calls and times add up; of the rest the greatest is
// told, and of the states the one that lets the fewest calls through. Shadow is what all are.
func (k *Keyed) breakers() events.BreakerReading {
	entries, past := k.all()
	if len(entries) == 0 {
		return events.BreakerReading{}
	}
	sum := events.BreakerReading{Spent: past, State: events.StateDisabled, Shadow: true}
	for _, e := range entries {
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
		sum.SlowCalls += r.SlowCalls
		sum.Seq = max(sum.Seq, r.Seq)
		sum.FailureRatio = max(sum.FailureRatio, r.FailureRatio)
		sum.Limit = max(sum.Limit, r.Limit)
		sum.SlowRatio = max(sum.SlowRatio, r.SlowRatio)
		sum.SlowLimit = max(sum.SlowLimit, r.SlowLimit)
		sum.Shadow = sum.Shadow && r.Shadow
		sum.Cooldown = max(sum.Cooldown, r.Cooldown)
		sum.Since = later(sum.Since, r.Since)
		sum.NextProbe = later(sum.NextProbe, r.NextProbe)
	}
	return sum
}

func strictness(s events.State) int {
	switch s {
	case events.StateForcedOpen:
		return 4
	case events.StateOpen:
		return 3
	case events.StateHalfOpen:
		return 2
	case events.StateClosed:
		return 1
	case events.StateDisabled:
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
	entries, _ := k.all()
	var sum events.LimiterReading
	for _, e := range entries {
		if l, ok := e.gate.(limiterReader); ok {
			r := l.limiterReading()
			sum.Limit += r.Limit
			sum.Usage += r.Usage
			sum.Queued += r.Queued
		}
	}
	return sum
}
