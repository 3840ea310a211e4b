package resilience

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// liftable is a context with a limit that can be lifted without ending the context, which those of the standard library
// cannot. Where it is made right inside that of another Timeout of the call (see nestedTiming), it also ends when that one
// does, with its cause, so that one timer and one context do for both.
type liftable struct {
	context.Context // of the standard library
	layer           *timing
	began           int64           // when the limit began, as now() tells
	outer           *limitedContext // ends the context once the limit is lifted; nil if nothing of the call does
	lifted          atomic.Bool     // from the start, where outer ends first
	timer           *time.Timer
	cancel          context.CancelCauseFunc
}

// start begins the limit of a zero liftable.
func (c *liftable) start(outside context.Context, l *timing, began int64) {
	c.layer, c.began = l, began
	above := outside
	for in := l; in.nested; {
		out, ok := above.(*limitedContext)
		if !ok {
			break
		}
		if c.outer == nil || out.left(began) <= c.outer.left(began) {
			c.outer = out
		}
		in, above = out.layer, out.outside
	}
	limit := l.limit
	if c.outer != nil && c.outer.left(began) <= limit {
		limit = c.outer.left(began)
		c.lifted.Store(true)
	}
	c.Context, c.cancel = context.WithCancelCause(above)
	if limit <= 0 {
		c.expire()
	}
	c.timer = time.AfterFunc(limit, c.expire)
}

// left returns how long a limit goes on.
func (c *limitedContext) left(at int64) time.Duration {
	return c.layer.limit - time.Duration(at-c.began)
}

// expire ends the context when the limit that counts has passed.
func (c *liftable) expire() {
	if c.lifted.Load() {
		c.cancel(c.outer.layer.cause)
	} else {
		c.cancel(c.layer.cause)
	}
}

// lift ends the limit, not the context. If the limit has passed it comes too late, and the context is done when it returns:
// nobody may take it for a living one in between.
func (c *liftable) lift() {
	if c.lifted.Load() {
		return
	}
	if !c.timer.Stop() {
		<-c.Done()
		return
	}
	c.lifted.Store(true)
	if c.outer != nil {
		c.timer.Reset(c.outer.left(now()))
	}
}

func (c *liftable) letGo(error) {
	c.timer.Stop()
	c.cancel(nil)
}

// Deadline returns the earliest of the limit, unless it is lifted, that of the call, and the deadline outside.
func (c *liftable) Deadline() (time.Time, bool) {
	at := time.Now()
	d, ok := c.Context.Deadline()
	earlier := func(left time.Duration) {
		if limit := at.Add(left); !ok || limit.Before(d) {
			d, ok = limit, true
		}
	}
	elapsed := int64(at.Sub(origin))
	if !c.lifted.Load() {
		earlier(c.layer.limit - time.Duration(elapsed-c.began))
	}
	if c.outer != nil {
		earlier(c.outer.left(elapsed))
	}
	return d, ok
}

// Err is DeadlineExceeded when a limit has passed, as with a deadline of the standard library's.
func (c *liftable) Err() error {
	err := c.Context.Err()
	if err != nil && endedByTimeout(c.Context) {
		return context.DeadlineExceeded
	}
	return err
}

// String keeps fmt from reading the fields, which others write.
func (c *liftable) String() string {
	return fmt.Sprintf("%v.%s(%v)", c.Context, c.layer.name, c.layer.limit)
}
