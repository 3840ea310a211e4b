package httpres

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/telltale-go/telltale/resilience"
)

// responseBody is the body of a response that an attempt got. When it is closed, or read to its end, it lets go of what the
// layers hold.
type responseBody struct {
	io.ReadCloser               // the base's; NoBody where it has none
	given         io.ReadCloser // what the base gave
	attempt       *attempt      // that got it; nil for a response that a layer of the user's made
	upgraded      bool          // it is the connection itself: the end of what can be read is not the end
	release       func(error)   // set before the caller has the response; may be called again

	closing  sync.Once
	closeErr error
}

// upgradedBody is the body of a 101 Switching Protocols response, to which one can write.
type upgradedBody struct {
	*responseBody
	io.Writer
}

// halfClosableBody is an upgradedBody whose writing end can be closed alone.
type halfClosableBody struct {
	upgradedBody
	half halfCloser
}

type halfCloser interface{ CloseWrite() error }

func (b halfClosableBody) CloseWrite() error { return b.half.CloseWrite() }

// attach makes a zero body that of a response.
func (b *responseBody) attach(resp *http.Response, a *attempt) {
	b.ReadCloser, b.given, b.attempt = resp.Body, resp.Body, a
	if resp.Body == nil {
		b.ReadCloser = http.NoBody
	}
	resp.Body = b
	if w, ok := b.ReadCloser.(io.Writer); ok {
		b.upgraded = true
		resp.Body = upgradedBody{b, w}
		if half, ok := w.(halfCloser); ok {
			resp.Body = halfClosableBody{upgradedBody{b, w}, half}
		}
	}
}

// attached returns the body of ours that a response has, nil if it has none.
func attached(resp *http.Response) *responseBody {
	switch b := resp.Body.(type) {
	case *responseBody:
		return b
	case upgradedBody:
		return b.responseBody
	case halfClosableBody:
		return b.responseBody
	}
	return nil
}

// hold has release called when the response's body is done with: at once if it has none. It may be called several times
// for one response. A response that a layer of the user's made may be others' as well: it is copied.
func hold(resp *http.Response, release func(error)) *http.Response {
	if resp == nil {
		release(nil)
		return nil
	}
	b := attached(resp)
	if b == nil {
		own := *resp
		resp = &own
		b = new(responseBody)
		b.attach(resp, nil)
	}
	if b.ReadCloser == http.NoBody {
		release(nil)
		return resp
	}
	before := b.release
	b.release = release
	if before != nil {
		b.release = func(err error) {
			defer release(err)
			before(err)
		}
	}
	return resp
}

// handOver returns the response as the caller should get it: without a body of ours where the base gave none.
func handOver(resp *http.Response) *http.Response {
	if b := attached(resp); b != nil && b.ReadCloser == http.NoBody {
		resp.Body = b.given
	}
	return resp
}

func (b *responseBody) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	if err == nil || b.upgraded {
		return n, err
	}
	if err == io.EOF {
		b.ended()
		return n, err
	}
	if b.attempt != nil {
		if limit, ok := context.Cause(b.attempt).(*resilience.TimeoutError); ok {
			err = limit // as HTTP/1 has it; HTTP/2 tells of a deadline only
		}
	}
	b.done(err)
	return n, err
}

// Close closes the base's body, once.
func (b *responseBody) Close() error {
	b.closing.Do(func() {
		defer b.done(nil)
		if r := b.sentReplay(); r != nil {
			defer r.Close() // what has been answered is sent no further
		}
		b.closeErr = b.ReadCloser.Close()
	})
	return b.closeErr
}

// ended lets go when there is no more to read and the request's body is sent: an HTTP/2 server may have said all before.
func (b *responseBody) ended() {
	if r := b.sentReplay(); r != nil {
		r.whenClosed(func() { b.done(nil) })
		return
	}
	b.done(nil)
}

// sentReplay returns the body that the request was sent with, nil if that is none of ours.
func (b *responseBody) sentReplay() *replay {
	if b.attempt == nil {
		return nil
	}
	r, _ := b.attempt.sent.Body.(*replay)
	return r
}

func (b *responseBody) done(err error) {
	if b.release != nil {
		b.release(err)
	}
}
