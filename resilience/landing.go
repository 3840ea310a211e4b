package resilience

import (
	"sync"
	"sync/atomic"
)

// landing is what the callers of a flight share.
type landing[T any] struct {
	caught[T]
	told  decision // what the run notes of its end
	rec   *record  // of the run, for the leader to join; nil if it was not recorded, or is the leader's own
	users users
	hold  *sharedHold // nil if nothing waits for the value's release
}

// shared makes what the callers of the flight share. joining.mu is held.
func (f *flight[T]) shared(rec *record, c *caught[T]) *landing[T] {
	d := &landing[T]{caught: *c}
	d.users.present.Store(int64(f.waiting))
	if f.cancel != nil && rec != nil && rec.held != nil && delivers(c.err) {
		d.hold = &sharedHold{holders: int(f.waiting), ends: rec.held.ends}
	}
	if rec != nil {
		d.told, d.users.inside = rec.decision, rec.shared
		if f.cancel != nil { // else its caller goes on writing it
			if rec.held != nil {
				rec.held.ends = nil // they are shared, or released
			}
			d.rec = rec
		}
	}
	return d
}

// took gives a caller its part: what the record tells, and of the value. It is called once for each caller.
func (d *landing[T]) took(call Call, leads bool) {
	if call.rec == nil {
		return
	}
	if leads && d.rec != nil {
		call.join(d.rec)
	}
	call.rec.decision = d.told
	call.rec.shared = nil
	if !delivers(d.err) {
		return
	}
	if d.users.present.Load() > 1 || d.users.inside != nil {
		call.rec.shared = &d.users
	}
	if d.hold != nil {
		call.onRelease(d.hold)
	}
}

// sharedHold lets go of a value when the last of those who have it releases it.
type sharedHold struct {
	mu      sync.Mutex // guards what follows; not held while something is released
	holders int
	late    error // the first that a holder told
	ends    []heldPart
}

func (h *sharedHold) letGo(err error) {
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

// users are those who have a flight's value.
type users struct {
	present atomic.Int64 // callers that may still use it
	inside  *users       // of a flight further in, which they use as one; nil if there is none
}

// drop is said by a user who is done with the value: it tells whether all are.
func (u *users) drop() bool {
	for ; u != nil; u = u.inside {
		if u.present.Add(-1) > 0 {
			return false
		}
	}
	return true
}

// drops tells whether the call's value is to be discarded by the layer that is done with it: not while other callers of
// its flight have it.
func (c Call) drops() bool {
	if c.rec == nil {
		return true
	}
	with := c.rec.shared
	c.rec.shared = nil
	return with.drop()
}
