package httpres

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/stop"
	"github.com/telltale-go/telltale/resilience"
)

// call is one request on its way through a pipeline. Its attempts may run beside each other, and go on when it is over. It
// is the context that the pipeline gets, in which callKey finds it.
type call struct {
	context.Context

	transport  *Transport
	pipeline   *resilience.Pipeline[*http.Response]
	req        *http.Request // the caller's; not touched when the call is over
	host       string        // where req goes, as hostOf has it
	body       requestBody
	idempotent bool
	repeats    bool // a layer may send the request more than once

	mu       sync.Mutex // guards what follows; never held while a function of the user's runs
	over     bool       // RoundTrip has returned
	attempts int
	underWay int   // attempts that the base works on
	last     error // the failure of the last attempt, nil if it got a good answer

	first attempt // by itself, so that a usual request is one allocation; it goes on like any other
}

// callKey finds the call in the contexts of its pipeline.
type callKey struct{}

// Value finds the call itself.
func (c *call) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// callOf returns the request that a context is of, nil if it is of none.
func callOf(ctx context.Context) *call {
	if ctx == nil {
		return nil
	}
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// String keeps fmt from reading the fields, which attempts write.
func (c *call) String() string { return fmt.Sprintf("%v.httpres.call", c.Context) }

var (
	errSent = errors.New("httpres: the request was sent and must not be sent again")
	errOver = errors.New("httpres: the request has been answered")
	errLeft = errors.New("httpres: a layer gave the attempt a context that is not derived from its own")
)

// begin counts an attempt, if there may be one more.
func (c *call) begin() (*attempt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil, errOver
	}
	if reason := c.cannotRepeat(); reason != 0 { // a layer of the user's asks all the same
		return nil, &stop.Error{Err: c.sentOnce(), Reason: reason}
	}
	c.attempts++
	c.underWay++
	if c.attempts == 1 {
		return &c.first, nil
	}
	return new(attempt), nil
}

func (c *call) end() {
	c.mu.Lock()
	c.underWay--
	c.mu.Unlock()
}

// finish notes that RoundTrip returns: from then on the request is the caller's again.
func (c *call) finish() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
}

func (c *call) note(failure error) {
	c.mu.Lock()
	c.last = failure
	c.mu.Unlock()
}

// again tells whether a Retry may send the request again.
func (c *call) again() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cannotRepeat() == 0
}

// beside tells whether a Hedge may send the request while it is under way.
func (c *call) beside() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.over && c.cannotRepeat() == 0 && (c.underWay == 0 || c.body.parallel() && len(c.req.Trailer) == 0)
}

// cannotRepeat tells why the request must not be sent again, 0 if it may. mu is held.
func (c *call) cannotRepeat() events.Reason {
	switch {
	case c.attempts == 0:
		return 0
	case !c.idempotent:
		return events.ReasonNotRetryable
	case !c.body.whole():
		return events.ReasonNotReplayable
	}
	return 0
}

// sentOnce is the error of an attempt that was not made. mu is held.
func (c *call) sentOnce() error {
	if c.last != nil {
		return c.last
	}
	return errSent
}

// failed returns an attempt's error as the layers should see it.
func (c *call) failed(ctx context.Context, err error) error {
	if cause := c.body.failure(); cause != nil {
		err = &bodyError{cause}
	}
	if c.Err() != nil {
		c.note(err)
		return err // nobody asks for more
	}
	seen := err
	if _, ended := err.(*resilience.TimeoutError); ended && ctx.Err() != nil {
		seen = ctx.Err() // net/http's HTTP/1 returns the cause of the context's end: the Timeout layer itself will name it
	}
	return c.marked(err, seen)
}

// marked notes an attempt's failure, and marks what the layers see of it if the request must not be sent again, though a
// layer might.
func (c *call) marked(failure, seen error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = failure
	if reason := c.cannotRepeat(); reason != 0 && c.repeats {
		return &stop.Error{Err: seen, Reason: reason}
	}
	return seen
}
