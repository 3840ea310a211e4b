package resilience

import (
	"time"

	"github.com/telltale-go/telltale/events"
)

// traits are what the rules for warnings know of a layer. The zero value has nothing to warn of.
type traits struct {
	limit     time.Duration  // of what is inside it; 0: none
	retry     *Retry         // with defaults
	hedge     *Hedge         // with defaults
	repeats   bool           // it may start what is inside it more than once
	abandons  bool           // its limit ends the call whatever is inside it does
	room      bool           // what runs inside it takes a place of few
	limits    bool           // it refuses when there is too much
	measures  bool           // it takes how long the calls need for a sign of load
	answers   bool           // for every failure, without one of its own
	foreign   bool           // the user's: what it does with failures is not known
	breaker   *breakerTraits // it is a circuit breaker
	bus       *events.Bus    // of its state
	durations []duration     // as they were set
}

type breakerTraits struct {
	cooldown time.Duration
	slow     bool // it counts slow calls, and so those that hang
	failures bool // it counts failures
}

// duration is an option, named for people.
type duration struct {
	field string
	value time.Duration
}

// described is a layer that the rules for warnings know: one of this package.
type described interface {
	traits() traits
}

// traitsOf returns what is known of a layer. Of one of the user's that is little, but it may repeat what is inside it.
func traitsOf(l Layer) traits {
	if d, ok := l.(described); ok {
		return d.traits()
	}
	_, gate := l.(Gate)
	return traits{repeats: !gate, foreign: true}
}

func (t Timeout) traits() traits {
	own := traits{abandons: t.Abandon, durations: []duration{{"Timeout.After", t.After}}}
	if t.After >= 0 {
		own.limit = or(t.After, defaultTimeout)
	}
	return own
}

func (r Retry) traits() traits {
	effective := r.withDefaults()
	own := traits{durations: []duration{{"Retry.MaxDelay", r.MaxDelay}}}
	if effective.MaxAttempts != 1 {
		own.retry, own.repeats = &effective, true
	}
	switch b := backoffLiteral(r.Backoff).(type) {
	case Exponential:
		own.durations = append(own.durations, duration{"Retry.Backoff.Base", b.Base})
	case Linear:
		own.durations = append(own.durations, duration{"Retry.Backoff.Step", b.Step})
	case Constant:
		own.durations = append(own.durations, duration{"Retry.Backoff", time.Duration(b)})
	}
	return own
}

func (h Hedge) traits() traits {
	effective := h.withDefaults()
	own := traits{durations: []duration{{"Hedge.Delay", h.Delay}}}
	if effective.MaxAttempts != 1 {
		own.hedge, own.repeats = &effective, true
	}
	if h.Learn != nil { // a floor may well be below a millisecond
		own.durations = append(own.durations, duration{"LearnedDelayConfig.Max", h.Learn.cfg.Max}, duration{"LearnedDelayConfig.Window", h.Learn.cfg.Window})
	}
	return own
}

func (b *Breaker) traits() traits {
	r := b.machine.rules
	return traits{
		breaker: &breakerTraits{cooldown: r.cooldown, slow: r.slow != nil, failures: r.consecutive > 0 || r.ratio > 0},
		bus:     b.bus,
		durations: []duration{{"BreakerConfig.Window", r.window}, {"BreakerConfig.SlowCall", r.slowLimit()},
			{"BreakerConfig.Cooldown", r.cooldown}, {"BreakerConfig.MaxProbeTime", r.maxProbeTime}},
	}
}

func (b *Bulkhead) traits() traits {
	return traits{room: true, limits: true, bus: b.cfg.Bus, durations: []duration{{"BulkheadConfig.MaxWait", b.cfg.MaxWait}}}
}

// traits are those of the empty key's gate, told of as the Keyed's.
func (k *Keyed) traits() traits {
	own := traitsOf(k.rest.gate)
	own.bus = k.cfg.Bus
	own.durations = append(own.durations, duration{"KeyedConfig.IdleAfter", k.cfg.IdleAfter})
	return own
}

func (c *Chaos) traits() traits {
	return traits{durations: []duration{{"ChaosConfig.Latency", c.cfg.Latency}, {"ChaosConfig.MaxLatency", c.cfg.MaxLatency}}}
}

func (l *RateLimiter) traits() traits {
	return traits{limits: true, bus: l.cfg.Bus, durations: []duration{{"RateLimiterConfig.Per", l.cfg.Per}, {"RateLimiterConfig.MaxWait", l.cfg.MaxWait}}}
}

func (l *AdaptiveLimiter) traits() traits {
	return traits{limits: true, measures: true, bus: l.cfg.Bus}
}

func (*Singleflight) traits() traits { return traits{} }

func (f Fallback[T]) traits() traits { return traits{answers: f.always && f.If == nil} }
