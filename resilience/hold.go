package resilience

import (
	"context"
	"sync/atomic"
	"time"
)

// holding is what the layers of one call do when the value that it returned is released (see PipelineConfig.Hold).
type holding struct {
	on   bool
	ends []func(error)
	mark int // where what the innermost typed layer of the user's holds begins
}

// holds tells whether the layers let go at the value's release instead of the call's return.
func (c Call) holds() bool { return c.rec != nil && c.rec.held.on }

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
func (c Call) onRelease(end func(error)) { c.rec.held.ends = append(c.rec.held.ends, end) }

// release lets go of what was added since mark: that attempt's value is superseded or there is none.
func (c Call) release(mark int, err error) {
	if !c.holds() || len(c.rec.held.ends) == mark {
		return
	}
	ends := c.rec.held.ends[mark:]
	c.rec.held.ends = c.rec.held.ends[:mark]
	runEnds(ends, err)
}

// runEnds runs all of them, also if one panics or ends the goroutine.
func runEnds(ends []func(error), err error) {
	defer func() {
		if len(ends) > 0 {
			runEnds(ends, err)
		}
	}()
	for len(ends) > 0 {
		end := ends[0]
		ends = ends[1:]
		end(err)
	}
}

// releaser returns the function that the value's holder calls; calling it again does nothing.
func (c Call) releaser() func(error) {
	var released atomic.Bool // no sync.Once: what is released may release again, which must not wait for itself
	return func(err error) {
		if released.CompareAndSwap(false, true) {
			c.release(0, err)
		}
	}
}

// holdTiming is a Timeout in a pipeline that holds its values. Outside of every Retry its limit goes on after the
// call's return until the value is released. Inside a Retry it covers the attempt alone: once there is a value, it is
// lifted.
func holdTiming[T any](b *builder[T], l *timing, next Next[T]) Next[T] {
	attempt := b.retriesOutside(l.position)
	return func(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
		limited, lift, stop := l.limited(ctx, attempt)
		kept := false
		defer func() {
			if !kept {
				stop()
			}
		}()
		v, err = next(limited, call, op)
		if delivers(err) {
			lift()
		}
		if !l.expired(ctx, limited) {
			if delivers(err) {
				kept = true
				call.onRelease(func(error) { stop() })
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

// limited returns the context for what is inside, and what lifts its limit, if it is an attempt's.
func (l *timing) limited(ctx context.Context, attempt bool) (limited context.Context, lift, stop func()) {
	if attempt {
		c := newLiftable(ctx, l.limit, l.cause)
		return c, c.lift, c.stop
	}
	limited, stop = context.WithTimeoutCause(ctx, l.limit, l.cause)
	return limited, func() {}, stop
}

// liftable is a context with a limit that can be lifted without ending the context, which those of the standard library
// cannot.
type liftable struct {
	context.Context
	cause  *TimeoutError
	timer  *time.Timer
	cancel context.CancelCauseFunc
	limit  time.Time
	lifted atomic.Bool
}

func newLiftable(ctx context.Context, limit time.Duration, cause *TimeoutError) *liftable {
	inner, cancel := context.WithCancelCause(ctx)
	l := &liftable{Context: inner, cause: cause, cancel: cancel, limit: time.Now().Add(limit)}
	l.timer = time.AfterFunc(limit, func() { cancel(cause) })
	return l
}

// lift ends the limit, not the context. If the limit has passed it comes too late, and the context is done when it returns:
// nobody may take it for a living one in between.
func (l *liftable) lift() {
	if l.timer.Stop() {
		l.lifted.Store(true)
		return
	}
	<-l.Done()
}

func (l *liftable) stop() {
	l.timer.Stop()
	l.cancel(nil)
}

// Deadline returns the earlier of the limit, unless it is lifted, and the deadline outside.
func (l *liftable) Deadline() (time.Time, bool) {
	d, ok := l.Context.Deadline()
	if l.lifted.Load() || ok && d.Before(l.limit) {
		return d, ok
	}
	return l.limit, true
}

// Err is DeadlineExceeded when the limit has passed, as with a deadline of the standard library's.
func (l *liftable) Err() error {
	err := l.Context.Err()
	if err != nil && context.Cause(l.Context) == error(l.cause) {
		return context.DeadlineExceeded
	}
	return err
}
