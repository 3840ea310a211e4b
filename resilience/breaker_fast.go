package resilience

import (
	"math"

	"github.com/telltale-go/telltale/events"
)

// A breaker's fast word is what those who take no lock need to know of its machine: the generation (32 bits), the state (3),
// five marks, and how many quick successes the machine has not been told yet (24). Only who holds the lock changes
// anything but the number.
const (
	fastUntold  = 1<<24 - 1
	fastFlies   = 1 << 24 // closed, and the calls under way are counted
	fastTimed   = 1 << 25 // a success counts within the window's newest cell only
	fastCounts  = 1 << 26 // a success changes nothing but a number: it may count itself here
	fastIdle    = 1 << 27 // a success changes nothing
	fastAdmits  = 1 << 28 // every call is let through, and the machine need not know
	fastState   = 29
	fastGen     = 32
	fastSuccess = fastUntold | fastTimed | fastCounts | fastIdle
)

func stateIn(fast uint64) events.State { return events.State(fast >> fastState & 7) }

// unknown is the reading of a clock that has not been read.
const unknown = math.MinInt64

// succeeded takes a success the short way, if the machine lets it. at is when it came; it may be unknown.
func (b *Breaker) succeeded(permit Permit, at int64) bool {
	fast, gen := b.fast.Load(), permit.Token
	if int64(fast>>fastGen) != gen {
		return false
	}
	if fast&fastIdle != 0 {
		return true
	}
	if fast&fastCounts == 0 {
		return fast&fastFlies != 0 && b.landed(permit)
	}
	if fast&fastTimed != 0 {
		if at == unknown {
			at = now()
		}
		if width := b.machine.rules.cellWidth(); uint64(at-b.cell.Load()) >= uint64(width) {
			return false // of another cell, or another clock
		}
	}
	for fast&fastUntold != fastUntold {
		if b.fast.CompareAndSwap(fast, fast+1) {
			return true
		}
		if fast = b.fast.Load(); int64(fast>>fastGen) != gen || fast&fastCounts == 0 {
			return false
		}
	}
	return false
}

// tookOff lets a call through that the machine has to know of, but that changes nothing else: false if it may.
func (b *Breaker) tookOff() (permit Permit, ok bool) {
	b.mu.Lock()
	at := now()
	if b.machine.tookOff(at) {
		permit, ok = Permit{Token: int64(b.machine.gen), Start: at}, true
	}
	b.mu.Unlock()
	return permit, ok
}

// landed is succeeded for a call that took off so.
func (b *Breaker) landed(permit Permit) (ok bool) {
	b.mu.Lock()
	ok = b.machine.landed(uint32(permit.Token), permit.Start, now())
	b.mu.Unlock()
	return ok
}

// lock takes mu, and tells the machine of the successes that were taken without it. Until mirror no more are.
func (b *Breaker) lock() {
	b.mu.Lock()
	fast := b.fast.Load()
	if fast&fastSuccess == 0 {
		return
	}
	if untold := b.fast.Swap(fast&^fastSuccess) & fastUntold; untold > 0 {
		b.machine.succeeded(int64(untold))
	}
}

// mirror shows the machine as it is to those who take no lock. mu is held.
func (b *Breaker) mirror() {
	m := &b.machine
	fast := uint64(m.gen)<<fastGen | uint64(m.state)<<fastState
	switch {
	case m.state == events.StateDisabled, m.state == events.StateClosed && m.underWay == nil:
		fast |= fastAdmits
	case m.state == events.StateClosed:
		fast |= fastFlies
	}
	switch idle, counts := m.quick(); {
	case idle:
		fast |= fastIdle
	case counts && m.window != nil:
		b.cell.Store(m.window.start(m.rules.cellWidth()))
		fast |= fastCounts | fastTimed
	case counts:
		fast |= fastCounts
	}
	if b.fast.Load() != fast {
		b.fast.Store(fast)
	}
}
