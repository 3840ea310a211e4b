package resilience

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
)

// Breaker is a circuit breaker: a [Gate] that stops calling what keeps failing. Make one with [NewBreaker] and share it
// among the pipelines, of whatever result type, that call the same dependency. It is safe for concurrent use. It starts
// no timer, and no goroutine but a short-lived one for state changes that come while others are being published.
type Breaker struct {
	cfg       BreakerConfig // with defaults
	failureIf func(error) bool
	rules     breakerRules
	place     place

	// fast mirrors the machine for those who need no lock: its state, its generation, and whether a success would
	// change nothing.
	fast    atomic.Uint64
	refusal atomic.Pointer[BreakerOpenError] // while it does not let every call through

	mu      sync.Mutex // guards what follows; never held while a function of the user's or a handler runs
	machine machine
	box     events.Outbox[told]
}

// told is a state change on its way to the bus.
type told struct {
	ctx   context.Context
	event events.BreakerStateChanged
}

// maxTold is how many state changes wait for slow handlers before more are dropped.
const maxTold = 256

// NewBreaker makes a closed breaker. Its error is a *ConfigError, or several joined.
func NewBreaker(cfg BreakerConfig) (*Breaker, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	b := &Breaker{cfg: cfg, failureIf: cfg.FailureIf, rules: breakerRules{
		consecutive: int64(cfg.ConsecutiveFailures), ratio: cfg.FailureRatio, minCalls: int64(cfg.MinCalls),
		probes: cfg.Probes, passes: cfg.ProbeSuccesses, maxProbeTime: cfg.MaxProbeTime,
	}}
	b.place = place{bus: cfg.Bus, name: cfg.Name}
	b.rules.cooldown = b.cooldown(1)
	b.machine = newMachine(&b.rules, window{width: int64(cfg.Window) / windowCells}, now())
	b.mirror()
	b.place.source = cfg.Bus.NewSource(events.SourceSpec{
		Layer: cfg.Name, Type: events.TypeBreaker, Settings: settingsLine(cfg.settings()), Breaker: b.Snapshot,
	})
	b.place.warnOfState(b.traits())
	return b, nil
}

// MustBreaker is NewBreaker, and panics with its error.
func MustBreaker(cfg BreakerConfig) *Breaker { return mustBe(NewBreaker(cfg)) }

// LayerInfo implements [Layer].
func (b *Breaker) LayerInfo() LayerInfo {
	return LayerInfo{Name: b.cfg.Name, Type: events.TypeBreaker, Settings: b.cfg.settings()}
}

func (b *Breaker) check() error {
	if b.machine.rules == nil {
		return fmt.Errorf("is a %T that was not made by NewBreaker", b)
	}
	return nil
}

func (b *Breaker) stateSource() *events.Source { return b.place.source }

// Name returns the breaker's name.
func (b *Breaker) Name() string { return b.cfg.Name }

// State returns the breaker's state: half-open once the cooldown has passed, although the transition is made, and
// published, by the next call. It takes no lock.
func (b *Breaker) State() events.State {
	state := stateIn(b.fast.Load())
	if state == events.StateOpen {
		if r := b.refusal.Load(); r != nil && r.State == events.StateOpen && r.RetryAfter() == 0 {
			return events.StateHalfOpen
		}
	}
	return state
}

// Snapshot returns what the breaker measures and how it stands. Reading changes nothing.
func (b *Breaker) Snapshot() events.BreakerReading {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := &b.machine
	at, wall := now(), time.Now()
	r := events.BreakerReading{State: m.seen(at), Seq: m.seq, Since: wall.Add(time.Duration(m.since - at)), Cooldown: m.next}
	r.Calls, r.Failures, r.Limit = m.counted(at)
	r.FailureRatio = ratioOf(r.Failures, r.Calls)
	for i, ns := range m.spentAt(at) {
		r.Spent[i] = time.Duration(ns)
	}
	switch left := time.Duration(m.until - at); {
	case r.State == events.StateOpen:
		r.Cooldown, r.NextProbe = m.cooldown, wall.Add(left)
	case m.state == events.StateOpen: // half-open since the cooldown passed
		r.Since = wall.Add(min(left, 0))
	}
	return r
}

// Reset closes the breaker and forgets what it counted, in any state.
func (b *Breaker) Reset() { b.command((*machine).reset) }

// ForceOpen opens the breaker until Reset.
func (b *Breaker) ForceOpen() { b.command((*machine).force) }

func (b *Breaker) command(do func(*machine, int64) *transition) {
	b.mu.Lock()
	made := do(&b.machine, now())
	b.enter(context.Background(), Call{}, made)
	b.unlock(made)
}

// enter mirrors the machine, and queues the transition that it made, if any, to be published by unlock. mu is held.
func (b *Breaker) enter(ctx context.Context, call Call, made *transition) {
	if made != nil {
		b.refuse(made) // before anybody can see the state
	}
	b.mirror()
	if made != nil && b.place.bus.BreakerStateChanged.Heard() && !b.box.Put(told{ctx, b.changed(call, made)}, maxTold) {
		b.place.bus.CountDropped()
	}
}

// unlock releases mu, and publishes what is queued.
func (b *Breaker) unlock(made *transition) {
	if made == nil {
		b.mu.Unlock() // who queued something publishes it
		return
	}
	defer b.box.Deliver(&b.mu, b.publish) // also if CooldownFunc ends the goroutine
	if made.to == events.StateOpen && b.cfg.CooldownFunc != nil {
		b.growCooldown()
	}
}

// growCooldown asks ahead for the cooldown of the opening after the one just made. mu is held, but not while it asks.
func (b *Breaker) growCooldown() {
	openings, next := b.machine.openings, b.cfg.Cooldown
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		if b.machine.openings == openings {
			b.machine.next = next
		}
	}()
	next = b.cooldown(openings + 1)
}

func (b *Breaker) cooldown(openings int) (d time.Duration) {
	d = b.cfg.Cooldown
	if b.cfg.CooldownFunc == nil {
		return d
	}
	defer b.place.recoverCallback(context.Background(), Call{}, "BreakerConfig.CooldownFunc")
	if grown := b.cfg.CooldownFunc(openings); grown > 0 {
		return grown
	}
	return d
}

func (b *Breaker) publish(t told) { b.place.bus.BreakerStateChanged.Publish(t.ctx, t.event) }

func (b *Breaker) changed(call Call, t *transition) events.BreakerStateChanged {
	return events.BreakerStateChanged{
		Meta: b.place.meta(call), From: t.from, To: t.to, Reason: t.reason, Seq: t.seq,
		Calls: t.calls, Failures: t.failures, FailureRatio: ratioOf(t.failures, t.calls), Limit: t.limit,
		Cooldown: t.cooldown, Err: t.err,
	}
}

// refuse makes the error of those that are refused in the state just entered. mu is held.
func (b *Breaker) refuse(t *transition) {
	if t.to == events.StateClosed {
		b.refusal.Store(nil)
		return
	}
	b.refusal.Store(&BreakerOpenError{Name: b.cfg.Name, State: t.to, LastFailure: t.err, until: b.machine.until, cooldown: t.cooldown, seq: t.seq})
}

// mirror updates fast. mu is held.
func (b *Breaker) mirror() {
	m := &b.machine
	w := uint64(m.gen)<<8 | uint64(m.state)<<1
	if m.rules.ratio == 0 && m.streak == 0 {
		w |= 1 // a success of this generation changes nothing
	}
	if b.fast.Load() != w {
		b.fast.Store(w)
	}
}

func stateIn(fast uint64) events.State { return events.State(fast >> 1 & 0x7f) }
