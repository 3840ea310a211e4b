package grpcres

import (
	"errors"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// pushback is in how long a client may come back.
type pushback time.Duration

// trailer is the pushback in gRPC's own words, rounded up.
func (p pushback) trailer() metadata.MD {
	ms := (time.Duration(p) + time.Millisecond - 1) / time.Millisecond
	return metadata.Pairs(pushbackKey, strconv.FormatInt(int64(ms), 10))
}

// answer returns the status that the client gets. push is told when it may come back, if it is turned away.
func (s *Server) answer(err error, push func(pushback)) error {
	if err == nil {
		return nil
	}
	if _, ok := err.(interface{ GRPCStatus() *status.Status }); ok {
		return err // the handler's own
	}
	var (
		limited  *resilience.LimitedError
		open     *resilience.BreakerOpenError
		panicked *resilience.PanicError
	)
	switch {
	case errors.As(err, &panicked):
		grpclog.Errorf("grpcres: panic in a handler: %v\n%s", panicked.Value, panicked.Stack) // where nobody listens it must not vanish
		return status.Error(codes.Internal, "the handler panicked")
	case errors.As(err, &open):
		return s.turnAway(codes.Unavailable, "circuit breaker is open", open.RetryAfter(), push)
	case errors.As(err, &limited):
		code := codes.Unavailable
		if limited.Reason == events.ReasonRate {
			code = codes.ResourceExhausted
		}
		return s.turnAway(code, "turned away: "+limited.Reason.String(), limited.After, push)
	case errors.Is(err, resilience.ErrClosed):
		return s.turnAway(codes.Unavailable, "the server is closing", 0, push)
	}
	return withStatus(err)
}

// turnAway makes the status of a call that was not handled.
func (s *Server) turnAway(code codes.Code, why string, after time.Duration, push func(pushback)) error {
	st := status.New(code, why)
	if after <= 0 {
		after = s.cfg.RetryAfter
	}
	if after <= 0 {
		return st.Err()
	}
	push(pushback(after))
	if with, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)}); err == nil {
		st = with
	}
	return st.Err()
}
