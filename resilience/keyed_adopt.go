package resilience

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/telltale-go/telltale/events"
)

// adoptable is a gate of this package that can become one of a [Keyed]'s. Types that embed one are, too.
type adoptable interface {
	// at returns where the gate tells what happens.
	at() place
	// moveTo is called before the gate's first use: it tells what happens there, and gives the name of that place in its errors.
	moveTo(p place)
}

func (b *Breaker) at() place              { return b.place() }
func (b *Bulkhead) at() place             { return b.place }
func (b *Bulkhead) moveTo(p place)        { b.place, b.cfg.Name = p, p.name }
func (l *RateLimiter) at() place          { return l.place }
func (l *RateLimiter) moveTo(p place)     { l.place, l.cfg.Name = p, p.name }
func (a *AdaptiveLimiter) at() place      { return a.place }
func (a *AdaptiveLimiter) moveTo(p place) { a.place, a.cfg.Name = p, p.name }

func (b *Breaker) moveTo(p place) {
	if b.extras == nil {
		b.extras = &breakerExtras{first: b.machine.rules.cooldown}
	}
	key := p.key // not the whole place
	b.bus, b.source, b.extras.key = p.bus, p.source, &key
	if r := b.refusal.Load(); r != nil { // New has opened it
		renamed := *r
		renamed.Name = p.name
		b.refusal.Store(&renamed)
	}
}

// rememberer is a gate that says whether it must not be forgotten, although no call uses it.
type rememberer interface{ remembers() bool }

// remembers: while it lets no call through, or somebody has said what it shall do.
func (b *Breaker) remembers() bool {
	switch b.State() {
	case events.StateOpen, events.StateForcedOpen, events.StateDisabled:
		return true
	case events.StateClosed, events.StateHalfOpen:
	}
	return false
}

// remembers: a new limiter would have a full burst.
func (l *RateLimiter) remembers() bool { return l.Snapshot().Usage > 0 }

var (
	errNilGate               = errors.New("KeyedConfig.New returned nil")
	errSharedGate            = errors.New("KeyedConfig.New returned a gate that is another key's")
	_, _, _, _               = adoptable(&Breaker{}), adoptable(&Bulkhead{}), adoptable(&RateLimiter{}), adoptable(&AdaptiveLimiter{})
	_, _          rememberer = &Breaker{}, &RateLimiter{}
)

// usable refuses what cannot be a key's gate.
func usable(gate Gate) error {
	if gate == nil {
		return errNilGate
	}
	switch v := reflect.ValueOf(gate); v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Chan:
		if v.IsNil() {
			return errNilGate
		}
	}
	if own, ok := gate.(interface{ check() error }); ok {
		if err := own.check(); err != nil {
			return fmt.Errorf("KeyedConfig.New's gate %w", err)
		}
	}
	return nil
}

// adopt makes a gate that is to be a key's tell what happens as one of k's. Its own source goes.
func (k *Keyed) adopt(gate Gate, key string) error {
	a, ok := gate.(adoptable)
	if !ok {
		return nil
	}
	k.mu.Lock()
	was := a.at()
	if was.keyed {
		k.mu.Unlock()
		return errSharedGate
	}
	a.moveTo(place{bus: k.place.bus, source: k.place.source, name: k.cfg.Name, key: key, keyed: true})
	k.mu.Unlock()
	was.bus.Remove(was.source)
	return nil
}
