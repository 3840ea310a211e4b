package resilience

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// limitedContext is the context inside a Timeout. Most operations end without having asked when theirs ends: for them
// it is an instant, and no timer, channel or registration with the context outside. At the first Done or non-nil Err it
// makes a context of the standard library's and is that from then on, so that causes, children and AfterFunc are the
// standard library's own; but for the deadline, which it tells itself. It is safe for concurrent use.
//
// If several things had ended it before anybody asked, the context outside counts first, except where both deadlines
// passed: then the earlier does. When the call has returned and nobody had asked, it is canceled, whatever came before.
type limitedContext struct {
	outside context.Context
	layer   *timing
	began   int64                     // when the limit began, as now() tells
	told    atomic.Pointer[time.Time] // the deadline; nil until somebody asks
	over    atomic.Bool
	isReal  atomic.Bool
	mu      sync.Mutex  // held while real is made
	real    realContext // written under mu, before isReal is
}

type realContext struct {
	context.Context
	stop context.CancelFunc
}

// Deadline implements [context.Context]. It starts no timer.
func (c *limitedContext) Deadline() (time.Time, bool) {
	if told := c.told.Load(); told != nil {
		return *told, true
	}
	deadline := c.deadline()
	if end, has := c.outside.Deadline(); has && !end.After(deadline) {
		deadline = end
	}
	c.told.CompareAndSwap(nil, &deadline)
	return *c.told.Load(), true
}

// Done implements [context.Context].
func (c *limitedContext) Done() <-chan struct{} { return c.made().Done() }

// Err implements [context.Context].
func (c *limitedContext) Err() error {
	if !c.isReal.Load() && !c.ended() {
		return nil
	}
	return c.made().Err()
}

// Value implements [context.Context]. By a private key, a *int, the standard library finds the context that tells a
// cause: where there is a cause, that must be the real one. (That it asks Err or Done before is true of some versions.)
func (c *limitedContext) Value(key any) any {
	_, private := key.(*int)
	if c.isReal.Load() || private && c.ended() {
		return c.made().Value(key)
	}
	return c.outside.Value(key)
}

// String keeps fmt from reading the fields, which others write.
func (c *limitedContext) String() string {
	return fmt.Sprintf("%T.%s(%v)", c.outside, c.layer.name, c.layer.limit)
}

// finish ends it when the call returns.
func (c *limitedContext) finish() {
	c.over.Store(true)
	if c.isReal.Load() {
		c.real.stop()
	}
}

// ended tells whether the real context would be done.
func (c *limitedContext) ended() bool {
	return c.over.Load() || c.passed() || c.above().Err() != nil
}

// passed tells whether the limit has passed.
func (c *limitedContext) passed() bool { return time.Duration(now()-c.began) >= c.layer.limit }

// deadline is the limit's end.
func (c *limitedContext) deadline() time.Time {
	at := time.Now()
	elapsed := at.Sub(origin) - time.Duration(c.began)
	return at.Add(-elapsed).Add(c.layer.limit) // in two steps, of which neither overflows
}

// above is the context whose end ends this one. A Timeout of the same call that is later, and returns later because
// nothing stands between that could let go of what is inside, has no say: one timer then does for both.
func (c *limitedContext) above() context.Context {
	above := c.outside
	for in := c; in.layer.nested; {
		out, ok := above.(*limitedContext)
		if !ok || out.layer.limit-time.Duration(c.began-out.began) <= c.layer.limit {
			break
		}
		in, above = out, out.outside
	}
	return above
}

// made returns the real context.
func (c *limitedContext) made() *realContext {
	if c.isReal.Load() {
		return &c.real
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isReal.Load() {
		return &c.real
	}
	if c.over.Load() {
		c.real.Context, c.real.stop = context.WithCancel(context.WithoutCancel(c.outside))
		c.real.stop() // before anybody can see it: a second one who asks must not find it alive
	} else {
		c.real.Context, c.real.stop = c.limited()
	}
	c.isReal.Store(true)
	if c.over.Load() { // finish came before there was something to stop
		c.real.stop()
	}
	return &c.real
}

// limited makes the context of the call that runs. If both deadlines are the same, the one outside counts.
func (c *limitedContext) limited() (context.Context, context.CancelFunc) {
	above := c.above()
	end, has := above.Deadline()
	if !has {
		// Of this deadline the wall clock is what it was at the origin. Nobody sees it, and reading it takes its time.
		deadline := origin.Add(time.Duration(c.began)).Add(c.layer.limit)
		return context.WithDeadlineCause(above, deadline, c.layer.cause)
	}
	deadline := c.deadline()
	if !end.After(deadline) {
		return context.WithCancel(above)
	}
	if c.passed() && above.Err() == context.DeadlineExceeded {
		above = context.WithoutCancel(above) // it ended later than the limit
	}
	return context.WithDeadlineCause(above, deadline, c.layer.cause)
}
