package resilience

import (
	"sync"
	"sync/atomic"
)

// landing is what the callers of a flight share.
type landing[T any] struct {
	caught[T]
	rec   *record      // of the run; nil if it was not recorded. Nobody writes it any more
	users atomic.Int64 // callers that may still use the value
	hold  *sharedHold  // nil if nothing waits for the value's release
}

// shared makes what the callers of the flight share. joining.mu is held.
func (f *flight[T]) shared(rec *record, c *caught[T], kept bool) *landing[T] {
	d := &landing[T]{caught: *c, rec: rec}
	d.users.Store(int64(f.waiting))
	if kept {
		d.hold = &sharedHold{holders: int(f.waiting), ends: rec.held.ends}
	}
	if f.cancel == nil && rec != nil {
		d.rec = rec.fork() // its caller goes on writing it
	}
	return d
}

// took gives a caller its part: what the record tells, and of the value. It is called once for each caller.
func (d *landing[T]) took(call Call, leads bool) {
	if call.rec == nil {
		return
	}
	switch {
	case d.rec == nil:
	case leads:
		call.rec.merge(d.rec)
	default:
		call.rec.reason, call.rec.decider, call.rec.fallback = d.rec.reason, d.rec.decider, d.rec.fallback
	}
	call.rec.shared = nil
	if !delivers(d.err) {
		return
	}
	if d.users.Load() > 1 {
		call.rec.shared = &d.users
	}
	if d.hold != nil {
		call.onRelease(d.hold.release)
	}
}

// sharedHold lets go of a value when the last of those who have it releases it.
type sharedHold struct {
	mu      sync.Mutex // guards what follows; not held while something is released
	holders int
	late    error // the first that a holder told
	ends    []func(error)
}

func (h *sharedHold) release(err error) {
	h.mu.Lock()
	if h.late == nil {
		h.late = err
	}
	h.holders--
	last, late := h.holders == 0, h.late
	h.mu.Unlock()
	if last {
		runEnds(h.ends, late)
	}
}

// drops tells whether the call's value is to be discarded by the layer that is done with it: not while other callers of
// its flight have it.
func (c Call) drops() bool {
	if c.rec == nil || c.rec.shared == nil {
		return true
	}
	users := c.rec.shared
	c.rec.shared = nil
	return users.Add(-1) == 0
}

// fork returns a record for a run on another goroutine, which counts on.
func (r *record) fork() *record {
	fork := *r
	fork.held = holding{on: r.held.on}
	fork.shared = nil
	return &fork
}

// merge takes over what a fork has noted, once nobody writes it any more. What it holds is not part of that.
func (r *record) merge(fork *record) {
	held := r.held
	*r = *fork
	r.held = held
}
