package httpres

import (
	"context"
	"errors"
	"io"
	"net/http/httptrace"
	"sync/atomic"
)

// lostError marks that a connection was lost before an answer came, which resilience.IsTransient cannot know of
// net/http's errors.New errors ("http: server closed idle connection"), nor of io.EOF. The caller gets err.
type lostError struct{ err error }

func (e *lostError) Error() string   { return e.err.Error() }
func (e *lostError) Unwrap() error   { return e.err }
func (e *lostError) Transient() bool { return true }

// connection is what an attempt knows of its connection.
type connection struct {
	trace   httptrace.ClientTrace
	waiting atomic.Bool // for an answer
}

func (c *connection) got(httptrace.GotConnInfo) { c.waiting.Store(true) }
func (c *connection) answered()                 { c.waiting.Store(false) }

// watchConnection has net/http tell whether it waits for an answer on a connection it got. What the caller wants to be
// told by httptrace it is still told.
func watchConnection(ctx context.Context) (context.Context, *connection) {
	c := new(connection)
	c.trace.GotConn, c.trace.GotFirstResponseByte = c.got, c.answered
	return httptrace.WithClientTrace(ctx, &c.trace), c
}

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
