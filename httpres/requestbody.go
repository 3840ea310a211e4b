package httpres

import (
	"io"
	"net/http"
	"sync/atomic"
)

// requestBody gives each attempt the whole body of a request.
type requestBody interface {
	// open returns the body for one more attempt. The base closes it.
	open() (io.ReadCloser, error)
	// whole tells whether open can give the whole body once more.
	whole() bool
	// parallel tells whether open gives bodies that may be read beside each other.
	parallel() bool
	// failure returns how reading the caller's body failed, nil if it did not, or if that is not known.
	failure() error
	// done ends the call, with a response or without. What no attempt has taken over is closed.
	done(answered bool)
}

func bodyOf(req *http.Request) requestBody {
	switch {
	case req.Body == nil:
		return bodyless
	case req.Body == http.NoBody:
		return emptyBody
	case req.GetBody != nil:
		return &gotBody{body: req.Body, get: req.GetBody}
	}
	return newRecording(req)
}

var bodyless, emptyBody requestBody = noBody{nil}, noBody{http.NoBody}

// bodyError tells that the caller's body could not be read: the server is not to blame, and there is nothing to send again.
type bodyError struct{ err error }

func (e *bodyError) Error() string     { return "httpres: reading the request body: " + e.err.Error() }
func (e *bodyError) Unwrap() error     { return e.err }
func (e *bodyError) Transient() bool   { return false }
func (e *bodyError) ErrorType() string { return "request_body" }

// noBody is the body of a request without one.
type noBody struct{ body io.ReadCloser }

func (b noBody) open() (io.ReadCloser, error) { return b.body, nil }
func (noBody) whole() bool                    { return true }
func (noBody) parallel() bool                 { return true }
func (noBody) failure() error                 { return nil }
func (noBody) done(bool)                      {}

// gotBody is a body that GetBody can get again. It is handed on as it is: net/http knows bodies in memory and sends them in
// one piece with the headers.
type gotBody struct {
	body  io.ReadCloser
	get   func() (io.ReadCloser, error)
	taken atomic.Bool
}

func (b *gotBody) open() (io.ReadCloser, error) {
	if b.taken.CompareAndSwap(false, true) {
		return b.body, nil
	}
	return b.get()
}

func (*gotBody) whole() bool    { return true }
func (*gotBody) parallel() bool { return true }
func (*gotBody) failure() error { return nil }

func (b *gotBody) done(bool) {
	if b.taken.CompareAndSwap(false, true) {
		b.body.Close()
	}
}
