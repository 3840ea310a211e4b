package resilience

import (
	"context"

	"github.com/telltale-go/telltale/events"
)

// What the commands do in each state; where the state stays as it is, nothing is published:
//
//	            | closed          | open, half-open | forced open | disabled
//	Reset       | counts are gone | closed          | closed      | closed
//	ForceOpen   | forced open     | forced open     | stays       | forced open
//	Disable     | disabled        | disabled        | disabled    | stays
//	Enable      | stays           | stays           | stays       | closed
//
// A breaker that a command closes starts anew: counts, probes and the growth of its cooldown are gone. Calls under way
// when the state changes do not count any more.

// Reset closes the breaker and forgets what it counted, in any state, disabled included.
func (b *Breaker) Reset() { b.command((*machine).reset) }

// ForceOpen opens the breaker, in any state, until Reset or Disable.
func (b *Breaker) ForceOpen() { b.command((*machine).force) }

// Disable lets every call through and counts nothing, from any state, until Enable, Reset or ForceOpen.
func (b *Breaker) Disable() { b.command((*machine).disable) }

// Enable closes the breaker if it is disabled. It does nothing in any other state: one that was forced open stays so.
func (b *Breaker) Enable() { b.command((*machine).enable) }

func (b *Breaker) command(do func(*machine, int64) *transition) {
	b.lock()
	made := do(&b.machine, now())
	b.enter(context.Background(), Call{}, made)
	b.unlock(made)
}

// force opens the breaker until it is told otherwise.
func (m *machine) force(now int64) *transition {
	if m.state == events.StateForcedOpen {
		return nil
	}
	m.lastErr = nil
	return m.enter(events.StateForcedOpen, events.ReasonManual, now)
}

// reset closes the breaker and forgets everything but the calls under way in a closed one, which will end.
func (m *machine) reset(now int64) *transition {
	if m.state == events.StateClosed {
		m.forget()
		return nil
	}
	return m.enter(events.StateClosed, events.ReasonManual, now)
}

// disable lets everything through, and counts nothing.
func (m *machine) disable(now int64) *transition {
	if m.state == events.StateDisabled {
		return nil
	}
	return m.enter(events.StateDisabled, events.ReasonManual, now)
}

// enable closes a disabled breaker; others are enabled.
func (m *machine) enable(now int64) *transition {
	if m.state != events.StateDisabled {
		return nil
	}
	return m.enter(events.StateClosed, events.ReasonManual, now)
}
