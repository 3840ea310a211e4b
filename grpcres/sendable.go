package grpcres

import (
	"context"
	"errors"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/stop"
)

// sendable is what a call and a stream have in common: whether it may be sent once more. It is safe for concurrent use.
type sendable struct {
	client  *Client
	cc      *grpc.ClientConn
	method  string
	owned   bool         // the channel is known not to retry by itself
	repeats bool         // a layer may run it more than once
	ended   func() error // Err of the caller's context
	out     atomic.Int32 // attempts that the server may have executed
	refused atomic.Bool  // the server wants no retry
	forgot  atomic.Bool  // what was sent is not remembered
	last    atomic.Pointer[error]
}

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

func (s *sendable) mayRepeat() bool { return s.cannotRepeat() == 0 }

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
	if s.ended() != nil {
		return seen // nobody asks for more
	}
	if reason := s.cannotRepeat(); reason != 0 && s.repeats {
		return &stop.Error{Err: seen, Reason: reason}
	}
	return seen
}

// attemptsKey is the metadata that numbers attempts: gRFC A6, "Exposed Retry Metadata".
const attemptsKey = "grpc-previous-rpc-attempts"

// outgoing adds to the metadata of an attempt what is to travel with it.
func outgoing(ctx context.Context) context.Context {
	pairs := travelling(ctx)
	if len(pairs) == 0 {
		return ctx
	}
	md, _ := metadata.FromOutgoingContext(ctx) // a copy
	if md == nil {
		md = metadata.MD{}
	}
	for i := 0; i < len(pairs); i += 2 {
		md.Set(pairs[i], pairs[i+1])
	}
	return metadata.NewOutgoingContext(ctx, md)
}
