package resilience

import (
	"context"
	"sync/atomic"
)

// Held is what the layers of a call keep for the value that it returned: permits of bulkheads, contexts (see
// PipelineConfig.Hold). The zero value keeps nothing. It is safe for concurrent use.
type Held struct{ holding *holding }

// Release lets go. err tells the gates how the value ended, nil that it ended well. The first call counts; it returns when
// they have been told.
func (h Held) Release(err error) {
	if h.holding != nil {
		h.holding.releaseAll(err)
	}
}

// holding is what the layers of one call do when the value that it returned is released (see PipelineConfig.Hold).
type holding struct {
	ends     []heldPart
	mark     int // where what the innermost typed layer of the user's holds begins
	released atomic.Bool
	room     holdingRoom
}

// holdingRoom is where a usual call keeps what it holds, so that it is allocated at once: one limit outside a Retry, one
// inside, for the first attempt, and one gate.
type holdingRoom struct {
	ends    [4]heldPart
	total   limitedContext
	attempt liftable
	settles settling
}

// recordThatHolds is the record of a call whose value is held.
type recordThatHolds struct {
	observedRecord
	holding holding
}

func newRecordThatHolds(ctx context.Context, key string, heard bool) *record {
	r := new(recordThatHolds)
	if heard {
		r.start(ctx, key)
	}
	r.held = &r.holding
	r.holding.ends = r.holding.room.ends[:0]
	return &r.record
}

// heldPart is what a layer does at the release. late is what the holder of the value says of it.
type heldPart interface{ letGo(late error) }

// onlyEnds is a heldPart that does not look at what the holder says.
type onlyEnds func()

func (f onlyEnds) letGo(error) { f() }

// holds tells whether the layers let go at the value's release instead of the call's return.
func (c Call) holds() bool { return c.rec != nil && c.rec.held != nil }

// held marks where an attempt begins.
func (c Call) held() int {
	if !c.holds() {
		return 0
	}
	return len(c.rec.held.ends)
}

// remark marks where what a typed layer of the user's holds begins, and returns the mark before.
func (c Call) remark(mark int) (before int) {
	if c.holds() {
		before, c.rec.held.mark = c.rec.held.mark, mark
	}
	return before
}

// supersede lets go of what the calls of next before have left.
func (c Call) supersede() {
	if c.holds() {
		c.release(c.rec.held.mark, nil)
	}
}

// onRelease adds what a layer does at the release. Layers further in come first.
func (c Call) onRelease(part heldPart) { c.rec.held.ends = append(c.rec.held.ends, part) }

// release lets go of what was added since mark: that attempt's value is superseded or there is none.
func (c Call) release(mark int, err error) {
	if c.holds() {
		c.rec.held.release(mark, err)
	}
}

func (h *holding) release(mark int, err error) {
	if ends := h.ends[mark:]; len(ends) > 0 {
		h.ends = h.ends[:mark]
		runEnds(ends, err)
	}
}

// runEnds runs all of them, also if one panics or ends the goroutine.
func runEnds(ends []heldPart, err error) {
	defer func() {
		if len(ends) > 0 {
			runEnds(ends, err)
		}
	}()
	for len(ends) > 0 {
		end := ends[0]
		ends = ends[1:]
		end.letGo(err)
	}
}

// releaseAll is what the value's holder calls; calling it again does nothing. No sync.Once: what is released may release
// again, which must not wait for itself.
func (h *holding) releaseAll(err error) {
	if h.released.CompareAndSwap(false, true) {
		h.release(0, err)
	}
}

// settling is a gate that settles a call when its value is released.
type settling struct {
	*gating
	ctx     context.Context
	call    Call
	permit  Permit
	outcome Outcome
}

// settleLater settles a call when its value is released.
func (g *gating) settleLater(ctx context.Context, call Call, permit Permit, outcome Outcome) {
	s := &call.rec.held.room.settles
	if s.gating != nil {
		s = new(settling)
	}
	*s = settling{g, ctx, call, permit, outcome}
	call.onRelease(s)
}

func (s *settling) letGo(late error) {
	defer func() { s.gate.Settle(s.ctx, s.call, s.permit, s.outcome) }() // also if what follows ends the goroutine
	if late != nil && s.outcome.Kind == Succeeded {
		s.outcome = s.gating.outcome(s.ctx, s.call, s.permit, late)
	}
}

// heldLimit is the context inside a Timeout of a pipeline that holds its values.
type heldLimit interface {
	context.Context
	heldPart
	// lift ends an attempt's limit, not the context.
	lift()
}

func (c *limitedContext) lift()       {}
func (c *limitedContext) letGo(error) { c.finish() }

// heldLimit makes the context for what is inside. An attempt's limit can be lifted.
func (l *timing) heldLimit(ctx context.Context, call Call, attempt bool) heldLimit {
	room := &call.rec.held.room
	if attempt {
		c := &room.attempt
		if c.layer != nil {
			c = new(liftable)
		}
		c.start(ctx, l, call.now)
		return c
	}
	c := &room.total
	if c.layer != nil {
		c = new(limitedContext)
	}
	c.outside, c.layer, c.began = ctx, l, call.now
	return c
}

// holdTiming is a Timeout in a pipeline that holds its values. Outside of every Retry its limit goes on after the
// call's return until the value is released. Inside a Retry it covers the attempt alone: once there is a value, it is
// lifted.
func holdTiming[T any](b *builder[T], l *timing, next Next[T]) Next[T] {
	attempt := b.retriesOutside(l.position)
	return func(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
		call = call.fresh()
		limited := l.heldLimit(ctx, call, attempt)
		kept := false
		defer func() {
			if !kept {
				limited.letGo(nil)
			}
		}()
		v, err = next(limited, call, op)
		if delivers(err) {
			limited.lift()
		}
		if !l.expired(ctx, limited) {
			if delivers(err) {
				kept = true
				call.onRelease(limited)
			}
			return v, err
		}
		if delivers(err) { // late, and its context is done: what it still has to give cannot be had
			b.discard(ctx, call, v)
			var none T
			v, err = none, error(l.cause)
		}
		return v, l.concluded(ctx, call, err)
	}
}
