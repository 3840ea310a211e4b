package grpcres

import (
	"context"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/telltale-go/telltale/resilience"
)

// established is an attempt's stream that has given its first message, or cannot be sent again. When it has ended it
// lets go of what the layers hold.
type established struct {
	cs       grpc.ClientStream
	ctx      context.Context // the attempt's
	cancel   context.CancelFunc
	desc     *grpc.StreamDesc
	evidence evidence
	received bool  // the first message was asked for
	first    error // what came instead: nil or io.EOF

	held resilience.Held

	mu       sync.Mutex // guards what follows; never held while something is released
	watching bool
	isDone   bool  // the channel says that the stream has ended
	how      error // and how
}

// hold has held released when a stream has ended: at once if it is a unary call's reply.
func hold(v any, held resilience.Held) any {
	e, ok := v.(*established)
	if !ok {
		held.Release(nil)
		return v
	}
	e.held = held
	return v
}

// discard ends a stream that is thrown away. Replies need nothing.
func discard(v any) error {
	if e, ok := v.(*established); ok {
		e.end(context.Canceled)
	}
	return nil
}

// watch has the stream let go also where nobody receives to its end: when its context or its channel ends.
func (e *established) watch() {
	e.mu.Lock()
	e.watching = true
	done, how := e.isDone, e.how
	e.mu.Unlock()
	if done {
		e.end(how)
		return
	}
	context.AfterFunc(e.ctx, func() { e.end(e.ctx.Err()) }) // end lets go of this one, too
}

// finished is what the channel calls when the stream has ended.
func (e *established) finished(err error) {
	e.evidence.finish(err)
	e.mu.Lock()
	e.isDone, e.how = true, err
	watching := e.watching
	e.mu.Unlock()
	if watching {
		e.end(err)
	}
}

// end lets go. The first one counts.
func (e *established) end(err error) {
	defer e.cancel() // also if what is released ends the goroutine
	e.held.Release(err)
}

func (e *established) recv(m any) error { return e.ended(e.cs.RecvMsg(m)) }

// ended looks at what receiving came to: it may be the stream's end.
func (e *established) ended(err error) error {
	switch {
	case err == nil:
		if !e.desc.ServerStreams {
			e.end(nil)
		}
		return nil
	case err == io.EOF:
		e.end(nil)
		return err
	}
	switch status.Code(err) {
	case codes.DeadlineExceeded, codes.Canceled:
		ended(e.ctx)
		if limit, ok := context.Cause(e.ctx).(*resilience.TimeoutError); ok {
			err = withStatus(limit)
		}
	}
	e.end(err)
	return err
}

// unlimited is the context that a stream is opened with. The deadline that it has, and the server is told, is the
// caller's: that of a Timeout, whose limit ends the context all the same, may be lifted when the first message comes.
type unlimited struct {
	context.Context
	caller context.Context
}

func (c unlimited) Deadline() (time.Time, bool) { return c.caller.Deadline() }
