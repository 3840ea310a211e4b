package httpres

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
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

var (
	errSent = errors.New("httpres: the request was sent and must not be sent again")
	errOver = errors.New("httpres: the request has been answered")
)

// attempt is the pipeline's operation: it sends the request once.
func (c *call) attempt(ctx context.Context) (*http.Response, error) {
	if err := c.begin(); err != nil {
		return nil, err
	}
	defer c.end()
	body, err := c.body.open()
	if err != nil {
		err = &bodyError{err}
		c.note(err)
		return nil, &stop.Error{Err: err, Reason: events.ReasonNotReplayable}
	}
	traced, connection := watchConnection(ctx)
	sent := c.clone(traced, body)
	if sent == nil {
		if body != nil {
			body.Close()
		}
		return nil, errOver
	}
	resp, err := c.transport.base.RoundTrip(sent)
	if resp == nil && err == nil {
		err = errNoAnswer
	}
	if err != nil {
		if ctx.Err() == nil && isLost(err, connection.waiting.Load()) {
			err = &lostError{err}
		}
		return nil, c.failed(ctx, err)
	}
	if resp.Request == sent {
		resp.Request = c.req // as net/http does it
	}
	c.note(nil)
	attach(resp, sent, c)
	return resp, nil
}

// begin counts an attempt, if there may be one more.
func (c *call) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return errOver
	}
	if reason := c.cannotRepeat(); reason != 0 { // a layer of the user's asks all the same
		return &stop.Error{Err: c.sentOnce(), Reason: reason}
	}
	c.attempts++
	c.underWay++
	return nil
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

// clone returns the request that an attempt sends, nil if the call is over. The trailer stays the caller's: its values may
// be set while the body is read.
func (c *call) clone(ctx context.Context, body io.ReadCloser) *http.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil
	}
	sent := c.req.Clone(ctx)
	sent.Body = body
	sent.Trailer = c.req.Trailer
	//lint:ignore SA1019 deprecated, and cleared for that reason
	sent.Cancel = nil // ctx does it: see withCancel
	redirect(ctx, c, sent)
	if name := c.transport.cfg.AttemptHeader; name != "" && sent.Header != nil {
		sent.Header.Set(name, strconv.Itoa(resilience.AttemptNumber(ctx)))
	}
	if name := c.transport.cfg.TimeoutHeader; name != "" && sent.Header != nil {
		announce(ctx, sent.Header, name)
	}
	return sent
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
