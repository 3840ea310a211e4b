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
	holds         bool          // held or more is set, before the caller has the response
	held          resilience.Held
	more          func(error) // what is released after held; may be called again

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

// hold has held released when the response's body is done with: at once if it has none. It may be called several times for
// one response.
func hold(resp *http.Response, held resilience.Held) *http.Response {
	resp, b := holder(resp)
	switch {
	case b == nil:
		held.Release(nil)
	case b.holds:
		b.also(held.Release)
	default:
		b.holds, b.held = true, held
	}
	return resp
}

// holdAlso is hold for a function. It may be called several times, too.
func holdAlso(resp *http.Response, release func(error)) *http.Response {
	resp, b := holder(resp)
	if b == nil {
		release(nil)
	} else {
		b.also(release)
	}
	return resp
}

// holder returns the body that can hold something, nil if there is nothing to be read. A response that a layer of the
// user's made may be others' as well: it is copied.
func holder(resp *http.Response) (*http.Response, *responseBody) {
	if resp == nil {
		return nil, nil
	}
	b := attached(resp)
	if b == nil {
		own := *resp
		resp = &own
		b = new(responseBody)
		b.attach(resp, nil)
	}
	if b.ReadCloser == http.NoBody {
		return resp, nil
	}
	return resp, b
}

func (b *responseBody) also(release func(error)) {
	before := b.more
	b.holds, b.more = true, release
	if before != nil {
		b.more = func(err error) {
			defer release(err)
			before(err)
		}
	}
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
	if b.more != nil {
		defer b.more(err)
	}
	b.held.Release(err)
}
