package grpcres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/stop"
)

// sendable is what a call and a stream have in common: whether it may be sent once more. It is the context that their
// pipeline gets, in which callKey finds it. It is safe for concurrent use.
type sendable struct {
	context.Context // the caller's

	client  *Client
	cc      *grpc.ClientConn
	method  string
	owned   bool         // the channel is known not to retry by itself
	repeats bool         // a layer may run it more than once
	out     atomic.Int32 // attempts that the server may have executed
	refused atomic.Bool  // the server wants no retry
	forgot  atomic.Bool  // what was sent is not remembered
	last    atomic.Pointer[error]
}

// callKey finds the sendable in the contexts of its pipeline.
type callKey struct{}

// Value finds the sendable itself.
func (s *sendable) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return s
	}
	return s.Context.Value(key)
}

// String keeps fmt from reading the fields, which attempts write.
func (s *sendable) String() string { return fmt.Sprintf("%v.grpcres.call", s.Context) }

var errSent = errors.New("grpcres: the call was sent and must not be sent again")

// cannotRepeat tells why nothing more may be sent, 0 if it may.
func (s *sendable) cannotRepeat() events.Reason {
	switch {
	case s.refused.Load():
		return events.ReasonNotRetryable
	case s.forgot.Load():
		return events.ReasonNotReplayable
	case s.out.Load() > 0 && !s.client.cfg.Idempotent(s.method):
		return events.ReasonNotRetryable
	}
	return 0
}

// mayRepeat tells whether what ctx is of may be sent once more: where that is not known, too.
func mayRepeat(ctx context.Context) bool {
	s, ok := ctx.Value(callKey{}).(*sendable)
	return !ok || s.cannotRepeat() == 0
}

// begin begins an attempt: its error tells that there must be none.
func (s *sendable) begin() error {
	if reason := s.cannotRepeat(); reason != 0 { // a layer of the user's asks all the same
		last := errSent
		if p := s.last.Load(); p != nil {
			last = *p
		}
		return &stop.Error{Err: last, Reason: reason}
	}
	s.out.Add(1)
	return nil
}

// failed returns an attempt's error as the layers should see it.
func (s *sendable) failed(ctx context.Context, err error, e *evidence) error {
	unsent := e.unsent(!s.owned && mayRetry(s.cc, s.method))
	if unsent {
		s.out.Add(-1)
	}
	seen, refuses := newFailure(ownEnd(ctx, err), unsent, e.trailers())
	if refuses {
		s.refused.Store(true)
	}
	s.last.Store(&seen)
	if s.Err() != nil {
		return seen // nobody asks for more
	}
	if reason := s.cannotRepeat(); reason != 0 && s.repeats {
		return &stop.Error{Err: seen, Reason: reason}
	}
	return seen
}
