package resilience

import "context"

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
