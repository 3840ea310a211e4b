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
	bus    *events.Bus
	source *events.Source
	extras *breakerExtras // nil: it has none

	// fast mirrors the machine for those who take no lock; cell is when its window's newest cell began.
	fast    atomic.Uint64
	cell    atomic.Int64
	refusal atomic.Pointer[BreakerOpenError] // while it does not let every call through

	mu      sync.Mutex // guards what follows; never held while a function of the user's or a handler runs
	machine machine
	box     *events.Outbox[told] // nil until a state change is told
}

// breakerExtras are what few breakers have, so that most take little memory.
type breakerExtras struct {
	failureIf    func(error) bool // nil: it asks nobody
	cooldownFunc func(int) time.Duration
	first        time.Duration // cooldown after a close, as cooldownFunc has it
	key          *string       // of the Keyed whose gate it is; nil: of none
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
	b := &Breaker{bus: cfg.Bus, machine: newMachine(cfg.rules(), now())}
	if cfg.FailureIf != nil || cfg.CooldownFunc != nil {
		b.extras = &breakerExtras{failureIf: cfg.FailureIf, cooldownFunc: cfg.CooldownFunc, first: cfg.Cooldown}
	}
	b.mirror()
	b.source = cfg.Bus.NewSource(events.SourceSpec{
		Layer: cfg.Name, Type: events.TypeBreaker, SettingsOf: b.machine.rules, Breaker: b.Snapshot,
	})
	if cfg.CooldownFunc != nil { // it has a source by now, of which a panic is told; and others may read it
		first := b.cooldown(1)
		b.mu.Lock()
		b.extras.first, b.machine.next = first, first
		b.mu.Unlock()
	}
	b.place().warnOfState(b.traits())
	return b, nil
}

// MustBreaker is NewBreaker, and panics with its error.
func MustBreaker(cfg BreakerConfig) *Breaker { return mustBe(NewBreaker(cfg)) }

// LayerInfo implements [Layer].
func (b *Breaker) LayerInfo() LayerInfo {
	info := LayerInfo{Name: b.Name(), Type: events.TypeBreaker}
	if b.source != nil {
		info.Settings = b.machine.rules.settings()
	}
	return info
}

func (b *Breaker) check() error {
	if b.source == nil {
		return fmt.Errorf("is a %T that was not made by NewBreaker", b)
	}
	return nil
}

func (b *Breaker) stateSource() *events.Source { return b.source }

// place is where the breaker stands by itself, or as one of a Keyed's.
func (b *Breaker) place() place {
	p := place{bus: b.bus, source: b.source, name: b.Name()}
	if b.extras != nil && b.extras.key != nil {
		p.key, p.keyed = *b.extras.key, true
	}
	return p
}

// Name returns the breaker's name.
func (b *Breaker) Name() string {
	if b.source == nil {
		return ""
	}
	return b.source.Layer()
}

// State returns the breaker's state: half-open once the cooldown has passed, and with SlowCall open once the calls
// under way are slow enough, although the transition is made, and published, by the next call. With Shadow it is the
// state that the breaker would be in. It takes no lock but with SlowCall.
func (b *Breaker) State() events.State {
	fast := b.fast.Load()
	state := stateIn(fast)
	if state == events.StateOpen {
		if r := b.refusal.Load(); r != nil && r.State == events.StateOpen && r.RetryAfter() == 0 {
			return events.StateHalfOpen
		}
	}
	if fast&fastFlies != 0 {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.machine.seen(now())
	}
	return state
}

// Snapshot returns what the breaker measures and how it stands. Reading changes nothing: time in a state that no call has
// noticed yet (see State) is in Spent as far as a cooldown has passed.
func (b *Breaker) Snapshot() events.BreakerReading {
	b.lock()
	defer b.mu.Unlock()
	defer b.mirror()
	m := &b.machine
	at, wall := now(), time.Now()
	when := func(reading int64) time.Time { return wall.Add(time.Duration(reading - at)) }
	r := events.BreakerReading{State: m.seen(at), Seq: m.seq, Since: when(m.since), Cooldown: m.next, Shadow: m.rules.shadow}
	counts, limit := m.counted(at)
	r.Calls, r.Failures, r.SlowCalls, r.Limit = counts.calls, counts.failures, counts.slow, limit
	r.FailureRatio, r.SlowRatio = ratioOf(counts.failures, counts.calls), ratioOf(counts.slow, counts.calls)
	r.SlowLimit = m.rules.slowRatio()
	for i, ns := range m.spentAt(at) {
		r.Spent[i] = time.Duration(ns)
	}
	switch {
	case r.State == m.state && m.state == events.StateOpen:
		r.Cooldown, r.NextProbe = time.Duration(m.until-m.since), when(m.until)
	case r.State == events.StateOpen: // the next call opens it
		_, since := m.underWay.at(at, m.rules.slotWidth())
		r.Since, r.NextProbe = when(since), wall.Add(min(m.next, maxCooldown))
	case m.state == events.StateOpen: // half-open since the cooldown passed
		r.Since = when(min(m.until, at))
	}
	return r
}

// enter mirrors the machine, and queues the transition that it made, if any, to be published by unlock. mu is held.
func (b *Breaker) enter(ctx context.Context, call Call, made *transition) {
	if made != nil {
		b.refuse(made) // before anybody can see the state
		if (made.to == events.StateClosed || made.to == events.StateDisabled) && b.extras != nil {
			b.machine.next = b.extras.first
		}
	}
	b.mirror()
	if made == nil || !b.bus.BreakerStateChanged.Heard() {
		return
	}
	if b.box == nil {
		b.box = new(events.Outbox[told])
	}
	if !b.box.Put(told{ctx, b.changed(call, made)}, maxTold) {
		b.bus.CountDropped()
	}
}

// unlock releases mu, and publishes what is queued.
func (b *Breaker) unlock(made *transition) {
	if made == nil {
		b.mu.Unlock() // who queued something publishes it
		return
	}
	defer b.deliver() // also if CooldownFunc ends the goroutine
	if made.to == events.StateOpen && b.extras != nil && b.extras.cooldownFunc != nil {
		b.growCooldown()
	}
}

// deliver publishes what is queued. mu is held on entry and released on return.
func (b *Breaker) deliver() {
	if b.box == nil {
		b.mu.Unlock()
		return
	}
	b.box.Deliver(&b.mu, b.publish)
}

// growCooldown asks ahead for the cooldown of the opening after the one just made. mu is held, but not while it asks.
func (b *Breaker) growCooldown() {
	openings, next := b.machine.openings, b.machine.rules.cooldown
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		if b.machine.openings == openings {
			b.machine.next = next
		}
	}()
	next = b.cooldown(int(openings) + 1)
}

func (b *Breaker) cooldown(openings int) (d time.Duration) {
	d = b.machine.rules.cooldown
	if b.extras == nil || b.extras.cooldownFunc == nil {
		return d
	}
	defer b.place().recoverCallback(context.Background(), Call{}, "BreakerConfig.CooldownFunc")
	if grown := b.extras.cooldownFunc(openings); grown > 0 {
		return grown
	}
	return d
}

func (b *Breaker) publish(t told) { b.bus.BreakerStateChanged.Publish(t.ctx, t.event) }

func (b *Breaker) changed(call Call, t *transition) events.BreakerStateChanged {
	return events.BreakerStateChanged{
		Meta: b.place().meta(call), From: t.from, To: t.to, Reason: t.reason, Seq: t.seq,
		Calls: t.counts.calls, Failures: t.counts.failures, FailureRatio: ratioOf(t.counts.failures, t.counts.calls), Limit: t.limit,
		SlowCalls: t.counts.slow, SlowRatio: ratioOf(t.counts.slow, t.counts.calls), SlowLimit: b.machine.rules.slowRatio(),
		Cooldown: t.cooldown, Shadow: b.machine.rules.shadow, Err: t.err,
	}
}

// refuse makes the error of those that are refused in the state just entered. mu is held.
func (b *Breaker) refuse(t *transition) {
	if t.to == events.StateClosed || t.to == events.StateDisabled {
		b.refusal.Store(nil)
		return
	}
	r := &BreakerOpenError{Name: b.Name(), State: t.to, LastFailure: t.err, until: b.machine.until, cooldown: t.cooldown, seq: t.seq}
	if t.reason == events.ReasonSlow || t.reason == events.ReasonProbeFailed && t.counts.slow > 0 {
		r.SlowRatio, r.SlowCall = ratioOf(t.counts.slow, t.counts.calls), b.machine.rules.slowLimit()
	}
	b.refusal.Store(r)
}
