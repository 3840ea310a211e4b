package httpres

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/stop"
	"github.com/telltale-go/telltale/resilience"
)

// call is one request on its way through the pipeline. One goroutine at a time uses it.
type call struct {
	transport  *Transport
	req        *http.Request // the caller's
	body       requestBody
	idempotent bool
	ended      func() error // Err of the context that the pipeline got
	attempts   int
	last       error // the failure of the last attempt, nil if it got a good answer
}

// callKey finds the call in the contexts of its pipeline.
type callKey struct{}

var errSent = errors.New("httpres: the request was sent and must not be sent again")

// attempt is the pipeline's operation: it sends the request once.
func (c *call) attempt(ctx context.Context) (*http.Response, error) {
	if reason := c.cannotRepeat(); reason != 0 { // a layer of the user's asks all the same
		return nil, &stop.Error{Err: c.sentOnce(), Reason: reason}
	}
	c.attempts++
	body, err := c.body.open()
	if err != nil {
		c.last = &bodyError{err}
		return nil, &stop.Error{Err: c.last, Reason: events.ReasonNotReplayable}
	}
	ctx, waiting := watchConnection(ctx)
	sent := c.clone(ctx, body)
	resp, err := c.transport.base.RoundTrip(sent)
	if resp == nil && err == nil {
		err = errNoAnswer
	}
	if err != nil {
		if ctx.Err() == nil && isLost(err, waiting.Load()) {
			err = &lostError{err}
		}
		return nil, c.failed(ctx, err)
	}
	if resp.Request == sent {
		resp.Request = c.req // as net/http does it
	}
	c.last = nil
	var failure error
	if slices.Contains(c.transport.cfg.FailureStatuses, resp.StatusCode) {
		c.last = newStatusError(resp)
		failure = c.marked(c.last)
	}
	attach(resp, sent, failure)
	return resp, nil
}

// clone returns the request that an attempt sends. The trailer stays the caller's: its values may be set while the body
// is read.
func (c *call) clone(ctx context.Context, body io.ReadCloser) *http.Request {
	sent := c.req.Clone(ctx)
	sent.Body = body
	sent.Trailer = c.req.Trailer
	//lint:ignore SA1019 deprecated, and cleared for that reason
	sent.Cancel = nil // ctx does it: see withCancel
	return sent
}

// cannotRepeat tells why the request must not be sent again, 0 if it may.
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

// sentOnce is the error of an attempt that was not made.
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
	c.last = err
	if c.ended() != nil {
		return err // nobody asks for more
	}
	if _, ended := err.(*resilience.TimeoutError); ended && ctx.Err() != nil {
		err = ctx.Err() // net/http's HTTP/1 returns the cause of the context's end: the Timeout layer itself will name it
	}
	return c.marked(err)
}

// marked marks a failure after which the request must not be sent again, though a layer might.
func (c *call) marked(failure error) error {
	if reason := c.cannotRepeat(); reason != 0 && c.transport.repeats {
		return &stop.Error{Err: failure, Reason: reason}
	}
	return failure
}

// classify is what the pipeline's layers see of an attempt: attempt judged it already.
func classify(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	return attached(resp).failure
}
