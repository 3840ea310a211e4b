package resilience

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// holding is what the layers of one call do when the value that it returned is released (see PipelineConfig.Hold).
type holding struct {
	on   bool
	ends []func(error)
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
func (h *holding) releaser() func(error) {
	var once sync.Once
	ends := h.ends
	return func(err error) { once.Do(func() { runEnds(ends, err) }) }
}

// holdTiming is a Timeout in a pipeline that holds its values. Outside of every Retry its limit goes on after the call's return until the
// value is released. Inside a Retry it covers the attempt alone: once there is a value, it is lifted.
func holdTiming[T any](b *builder[T], l *timing, next Next[T]) Next[T] {
	attempt := b.retriesOutside(l.position)
	return func(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
		limited := newLiftable(ctx, l.limit, l.cause)
		kept := false
		defer func() {
			if !kept {
				limited.stop()
			}
		}()
		v, err = next(limited, call, op)
		failure, failingValue := seen(err)
		hasValue := failure == nil || failingValue
		if hasValue && attempt {
			limited.lift()
		}
		if !l.expired(ctx, limited) {
			if hasValue {
				kept = true
				call.onRelease(func(error) { limited.stop() })
			}
			return v, err
		}
		if hasValue { // late, and its context is done: what it still has to give cannot be had
			b.discard(ctx, call, v)
			var none T
			v, err = none, error(l.cause)
		}
		return v, l.concluded(ctx, call, err)
	}
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

// lift ends the limit, not the context; it comes too late if the limit has passed.
func (l *liftable) lift() { l.lifted.Store(l.timer.Stop()) }

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
