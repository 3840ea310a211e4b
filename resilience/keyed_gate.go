package resilience

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/telltale-go/telltale/events"
)

// Admit implements [Gate]: the gate of the call's key decides. The permit is to be handed to Settle as it is.
func (k *Keyed) Admit(ctx context.Context, call Call) (Permit, error) {
	key := call.key
	if k.cfg.Key != nil {
		key = k.keyOf(ctx, call)
	}
	if key == "" {
		k.rest.enter()
		return k.rest.admit(ctx, call)
	}
	hash := maphash.String(k.seed, key)
	if e := k.find(hash, key); e != nil && e.enter() {
		return e.admit(ctx, call)
	}
	e, err := k.open(ctx, call, key, hash)
	if err != nil {
		return Permit{keyed: &keyedEntry{key: strings.Clone(key)}}, err
	}
	return e.admit(ctx, call.stale()) // New may have taken its time
}

// Settle implements [Gate]: the gate that admitted the call learns how it ended, also when its key has another by now.
// A permit that this Admit did not return changes nothing.
func (k *Keyed) Settle(ctx context.Context, call Call, permit Permit, outcome Outcome) {
	e := permit.keyed
	if e == nil {
		return
	}
	permit.keyed = nil
	if e.of != nil {
		permit.keyed, e = e.inner, e.of
	}
	defer e.leave()
	e.gate.Settle(ctx, call, permit, outcome)
}

// admit asks the gate, for a use that has begun. A permit remembers the entry, also one that comes with a refusal.
func (e *keyedEntry) admit(ctx context.Context, call Call) (permit Permit, err error) {
	admitted := false
	defer func() {
		if !admitted {
			e.leave()
		}
	}()
	permit, err = e.gate.Admit(ctx, call)
	if inner := permit.keyed; inner == nil {
		permit.keyed = e
	} else {
		permit.keyed = &keyedEntry{of: e, inner: inner, gate: e.gate, key: e.key}
	}
	admitted = err == nil
	return permit, err
}

// keyOf asks Key; if it panics there is no key.
func (k *Keyed) keyOf(ctx context.Context, call Call) (key string) {
	defer k.place.recoverCallback(ctx, call, "KeyedConfig.Key")
	return k.cfg.Key(ctx, call)
}

// open begins a use of a key that the table has not, or had not a moment ago.
func (k *Keyed) open(ctx context.Context, call Call, key string, hash uint64) (*keyedEntry, error) {
	k.mu.Lock()
	if e := k.find(hash, key); e != nil && e.enter() {
		k.mu.Unlock()
		return e, nil
	}
	room := k.room()
	k.mu.Unlock()
	if !room {
		return k.overflow(ctx), nil
	}
	key = strings.Clone(key) // it may be a part of something large
	gate, err := k.build(ctx, call, key)
	if err == nil {
		err = k.adopt(gate, key)
	}
	if err != nil {
		return nil, fmt.Errorf("no gate for the key: %w", err)
	}
	e, forgotten := k.insert(&keyedEntry{gate: gate, key: key, hash: hash})
	if e == nil {
		return k.overflow(ctx), nil
	}
	if len(forgotten) > 0 {
		k.tell(ctx, e, forgotten)
	}
	return e, nil
}

// room tells whether there is room for a key, or can be. mu is held.
func (k *Keyed) room() bool { return len(k.ring) < k.cfg.MaxKeys || k.victim() != nil }

// insert puts an entry into the table and begins a use of it, or of another of its key that was quicker; nil if there is
// no room.
func (k *Keyed) insert(made *keyedEntry) (e *keyedEntry, forgotten []*keyedEntry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.find(made.hash, made.key); e != nil && e.enter() {
		return e, nil
	}
	for len(k.ring) >= k.cfg.MaxKeys {
		victim := k.victim()
		if victim == nil {
			return nil, nil
		}
		if k.remove(victim) {
			forgotten = append(forgotten, victim)
		}
	}
	forgotten = append(forgotten, k.sweep()...) // not before: it moves the hand from what room has found
	made.uses.Add(1)                            // not enter: a key that comes once should not drive out those that come again
	k.add(made)
	return made, forgotten
}

// tell publishes which keys were forgotten for the sake of e, whose use ends if a handler ends the goroutine.
func (k *Keyed) tell(ctx context.Context, e *keyedEntry, forgotten []*keyedEntry) {
	if !k.place.bus.KeyEvicted.Heard() {
		return
	}
	told, keys := false, k.Len()
	defer func() {
		if !told {
			e.leave()
		}
	}()
	for i, f := range slices.Backward(forgotten) {
		k.place.bus.KeyEvicted.Publish(ctx, events.KeyEvicted{
			Meta: events.Meta{Source: k.place.source, Key: f.key, At: time.Now(), Nested: events.Nested(ctx)}, Keys: keys + i,
		})
	}
	told = true
}

// overflow begins a use of the gate that the keys without room share.
func (k *Keyed) overflow(ctx context.Context) *keyedEntry {
	if k.full.CompareAndSwap(false, true) {
		warn(ctx, k.place.bus, k.place.source, Warning{Code: events.WarningKeyedFull,
			Message: fmt.Sprintf("%s has no room for another key: all %d are in use; new ones share the gate of calls without a key "+
				"until there is room. A larger KeyedConfig.MaxKeys gives each its own", k.cfg.Name, k.cfg.MaxKeys)})
	}
	k.rest.enter()
	return k.rest
}

// waits is true: a gate may.
func (k *Keyed) waits() bool { return true }

// early is asked of the gates themselves (see gating).
func (k *Keyed) early(bool) bool { return false }
