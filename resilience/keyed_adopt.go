package resilience

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/telltale-go/telltale/events"
)

// adoptable is a gate of this package that can become one of a [Keyed]'s. Types that embed one are, too.
type adoptable interface {
	// at returns where the gate tells what happens; it is changed before the gate's first use.
	at() *place
	// rename is told the name that the gate gives in its errors.
	rename(name string)
}

func (b *Breaker) at() *place             { return &b.place }
func (b *Breaker) rename(name string)     { b.cfg.Name = name }
func (b *Bulkhead) at() *place            { return &b.place }
func (b *Bulkhead) rename(name string)    { b.cfg.Name = name }
func (l *RateLimiter) at() *place         { return &l.place }
func (l *RateLimiter) rename(name string) { l.cfg.Name = name }

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
	_, _, _                  = adoptable(&Breaker{}), adoptable(&Bulkhead{}), adoptable(&RateLimiter{})
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
	was := *a.at()
	if was.keyed {
		k.mu.Unlock()
		return errSharedGate
	}
	*a.at() = place{bus: k.place.bus, source: k.place.source, name: k.cfg.Name, key: key, keyed: true}
	a.rename(k.cfg.Name)
	k.mu.Unlock()
	was.bus.Remove(was.source)
	return nil
}
