package resilience

import (
	"sync/atomic"

	"github.com/telltale-go/telltale/events"
)

// runs counts the runs of the operation in a call of which parts run beside each other.
type runs struct {
	numbers atomic.Int64 // given to attempts
	begun   atomic.Int64
}

// fork returns the call for a part of it that is to run on a goroutine of its own. What is recorded there goes into a
// record of its own, so that neither side has to wait for the other, and a part that nobody waits for any more cannot
// touch what is finished; join takes it over. Only the numbers of the attempts are common to all. A call without a record
// needs none there either.
func (c Call) fork(into *record) Call {
	c = c.stale()
	r := c.rec
	if r == nil {
		return c
	}
	if r.common == nil {
		r.common = &r.own
		r.own.numbers.Store(int64(r.number)) // runs that the layer let pass: a Singleflight does without a key
		r.own.begun.Store(int64(r.number))
	}
	*into = record{
		execution: r.execution, kind: r.kind, reserved: r.reserved, common: r.common, delay: r.delay,
	}
	if r.held != nil {
		into.held = new(holding)
	}
	r.reserved, r.delay = 0, 0
	c.rec = into
	return c
}

// join takes over what a fork recorded. Its goroutine has ended.
func (c Call) join(fork *record) {
	r := c.rec
	if r == nil {
		return
	}
	r.number = or(fork.number, r.number)
	r.decision, r.shared = fork.decision, fork.shared
	r.working += fork.working
	r.backoff += fork.backoff
	r.queued += fork.queued
	if r.held != nil && fork.held != nil {
		r.held.ends = append(r.held.ends, fork.held.ends...)
	}
	c.left()
}

// left notes that forks have run, also those that are not joined.
func (c Call) left() {
	if c.rec != nil && c.rec.runs() > 0 {
		c.rec.kind = events.AttemptRetry
	}
}

// next returns the kind of the next attempt.
func (r *record) next() events.AttemptKind { return or(r.kind, events.AttemptInitial) }

// reserve settles the number of the next attempt, so that it is known before the attempt has passed its gates.
func (r *record) reserve() int {
	if r.reserved == 0 {
		r.reserved = int(r.common.numbers.Add(1))
	}
	return r.reserved
}

// take returns the number of the attempt that begins.
func (r *record) take() (number int) {
	number = r.reserve()
	r.reserved = 0
	return number
}

// giveBack gives a reserved number back that was not needed. If others were given after it, it stays a gap.
func (r *record) giveBack() {
	if n := int64(r.reserved); n != 0 && r.common.numbers.CompareAndSwap(n, n-1) {
		r.reserved = 0
	}
}
