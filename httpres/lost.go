package httpres

import (
	"context"
	"errors"
	"io"
	"net/http/httptrace"
)

// lostError marks that a connection was lost before an answer came, which resilience.IsTransient cannot know of
// net/http's errors.New errors ("http: server closed idle connection"), nor of io.EOF. The caller gets err.
type lostError struct{ err error }

func (e *lostError) Error() string   { return e.err.Error() }
func (e *lostError) Unwrap() error   { return e.err }
func (e *lostError) Transient() bool { return true }

// traceKey finds the ClientTrace in a context. Package httptrace keeps the key to itself, but tells it every context that it
// asks: so that an attempt can be the context of its own trace.
var traceKey = func() any {
	var found keyFinder
	httptrace.ContextClientTrace(&found)
	return found.key
}()

// keyFinder is a context that keeps the key it was asked for.
type keyFinder struct {
	context.Context
	key any
}

func (f *keyFinder) Value(key any) any { f.key = key; return nil }

// watch has net/http tell whether it waits for an answer on a connection it got. What the caller wants to be told by
// httptrace it is still told.
func (a *attempt) watch(ctx context.Context) {
	a.trace.GotConn, a.trace.GotFirstResponseByte = a.got, a.answered
	a.Context = ctx
	if httptrace.ContextClientTrace(ctx) != nil {
		a.Context = httptrace.WithClientTrace(ctx, &a.trace) // which adds the caller's to ours
	}
}

func (a *attempt) got(httptrace.GotConnInfo) { a.waiting.Store(true) }
func (a *attempt) answered()                 { a.waiting.Store(false) }

// isLost tells whether an error means that the connection was lost: an end of file where an answer was due, or whatever
// net/http says while it waits for one, unless the error has an opinion of its own. Errors before there is a
// connection, such as those about the request itself, are none.
func isLost(err error, waiting bool) bool {
	var opinion interface{ Transient() bool }
	if errors.As(err, &opinion) || errors.Is(err, context.Canceled) {
		return false
	}
	return waiting || errors.Is(err, io.EOF)
}
