package httpres

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/stop"
	"github.com/telltale-go/telltale/resilience"
)

// attempt is one sending of a request, all in one piece: the clone that is sent, its context, in which net/http finds the
// trace, and the body of the answer.
type attempt struct {
	context.Context // the one from the pipeline

	call    *call
	sent    http.Request
	url     url.URL // of sent
	trace   httptrace.ClientTrace
	waiting atomic.Bool // for an answer, on a connection
	body    responseBody
}

// Value finds the trace and the call.
func (a *attempt) Value(key any) any {
	switch key {
	case traceKey:
		return &a.trace
	case callKey{}:
		return a.call
	}
	return a.Context.Value(key)
}

// String keeps fmt from reading the fields, which the base's goroutines write.
func (a *attempt) String() string { return fmt.Sprintf("%v.httpres.attempt", a.Context) }

// sendOnce is the operation of every pipeline here.
func sendOnce(ctx context.Context) (*http.Response, error) {
	c := callOf(ctx)
	if c == nil {
		return nil, errLeft
	}
	a, err := c.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	a.call = c
	return a.send(ctx)
}

func (a *attempt) send(ctx context.Context) (*http.Response, error) {
	c := a.call
	body, err := c.body.open()
	if err != nil {
		err = &bodyError{err}
		c.note(err)
		return nil, &stop.Error{Err: err, Reason: events.ReasonNotReplayable}
	}
	a.watch(ctx)
	if !a.clone(body) {
		if body != nil {
			body.Close()
		}
		return nil, errOver
	}
	resp, err := c.transport.base.RoundTrip(&a.sent)
	if resp == nil && err == nil {
		err = errNoAnswer
	}
	if err != nil {
		if ctx.Err() == nil && isLost(err, a.waiting.Load()) {
			err = &lostError{err}
		}
		return nil, c.failed(ctx, err)
	}
	if resp.Request == &a.sent {
		resp.Request = c.req // as net/http does it
	}
	c.note(nil)
	a.body.attach(resp, a)
	return resp, nil
}

// clone makes the request that is sent, unless the call is over. The trailer stays the caller's: its values may be set while
// the body is read.
func (a *attempt) clone(body io.ReadCloser) bool {
	c := a.call
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	a.sent = *c.req.WithContext(a)
	if u := c.req.URL; u != nil {
		a.url = *u
		a.sent.URL = &a.url
	}
	a.sent.Header = c.req.Header.Clone()
	a.sent.TransferEncoding = slices.Clone(c.req.TransferEncoding)
	a.sent.Body = body
	//lint:ignore SA1019 deprecated, and cleared for that reason
	a.sent.Cancel = nil // the context does it: see withCancel
	redirect(a.Context, c, &a.sent)
	if name := c.transport.cfg.AttemptHeader; name != "" && a.sent.Header != nil {
		a.sent.Header.Set(name, strconv.Itoa(resilience.AttemptNumber(a.Context)))
	}
	if name := c.transport.cfg.TimeoutHeader; name != "" && a.sent.Header != nil {
		announce(a.Context, a.sent.Header, name)
	}
	return true
}
