package grpcres

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	rpccode "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/telltale-go/telltale/resilience"
)

// failure is how layers and events see a failed attempt. The caller gets err.
type failure struct {
	err    error
	code   codes.Code
	unsent bool          // nothing was sent
	asked  bool          // the server says when to come back
	after  time.Duration // in how long
}

func (e *failure) Error() string { return e.err.Error() }
func (e *failure) Unwrap() error { return e.err }

// RetryAfter returns in how long the server wants to be asked again.
func (e *failure) RetryAfter() time.Duration { return e.after }

// NotProcessed tells resilience.IsNotProcessed what was found out.
func (e *failure) NotProcessed() bool { return e.unsent || resilience.IsNotProcessed(e.err) }

// Transient is what the error says; a server that has too much to do, and says when it will not, means a later time.
func (e *failure) Transient() bool {
	return e.asked && e.code == codes.ResourceExhausted || resilience.IsTransient(e.err)
}

// ErrorType is the code's name: the class for the telemetry attribute error.type.
func (e *failure) ErrorType() string { return codeName(e.code) }

// codeName is the code as gRPC's specification writes it.
func codeName(c codes.Code) string {
	if name, ok := rpccode.Code_name[int32(c)]; ok {
		return name
	}
	return "CODE_" + strconv.Itoa(int(c))
}

// pushbackKey is the trailer by which a server asks for a delay in milliseconds, or, with anything else, for no retry:
// gRFC A6, "Pushback".
const pushbackKey = "grpc-retry-pushback-ms"

// newFailure returns the failure, and whether the server refuses to be asked again. Errors without a status are left
// alone.
func newFailure(err error, unsent bool, trailer metadata.MD) (failed error, refuses bool) {
	st, ok := status.FromError(err)
	if !ok {
		return err, false
	}
	f := &failure{err: err, code: st.Code(), unsent: unsent}
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok && info.GetRetryDelay() != nil {
			f.asked, f.after = true, max(info.GetRetryDelay().AsDuration(), 0)
		}
	}
	switch values := trailer[pushbackKey]; len(values) {
	case 0:
	case 1:
		ms, ok := milliseconds(values[0])
		f.asked, f.after, refuses = ok, ms, !ok
	default:
		refuses = true // as grpc-go has it
	}
	return f, refuses
}

// milliseconds reads a pushback. What exceeds the range of durations is the longest one.
func milliseconds(s string) (time.Duration, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil || ms > int64(math.MaxInt64/time.Millisecond) {
		return math.MaxInt64, true
	}
	return time.Duration(ms) * time.Millisecond, true
}

// ownEnd returns the context's own error instead of the status that a channel makes of it, so that the layer whose
// limit has passed is the one to name it.
func ownEnd(ctx context.Context, err error) error {
	switch status.Code(err) {
	case codes.Canceled, codes.DeadlineExceeded:
		if ended(ctx) {
			return ctx.Err()
		}
	}
	return err
}

// ended tells whether the context has ended. The server knows the deadline, too, and may be the first to notice: then
// the end is waited for.
func ended(ctx context.Context) bool {
	if ctx.Err() != nil {
		return true
	}
	deadline, ok := ctx.Deadline()
	if !ok || time.Now().Before(deadline) {
		return false
	}
	late := time.NewTimer(time.Second)
	defer late.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-late.C: // no context of ours
		return false
	}
}

// refusedError is an error of a layer, with the status that gRPC's callers look for.
type refusedError struct {
	error
	code codes.Code
}

func (e *refusedError) Unwrap() error { return e.error }

// GRPCStatus makes status.FromError and status.Code work.
func (e *refusedError) GRPCStatus() *status.Status { return status.New(e.code, e.error.Error()) }

// withStatus gives the errors of layers a status: those of calls have one.
func withStatus(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := err.(interface{ GRPCStatus() *status.Status }); ok {
		return err
	}
	if code := codeOf(err); code != codes.Unknown {
		return &refusedError{err, code}
	}
	return err
}

// codeOf returns the code that an error of a layer means; Unknown for other errors, whose status is their own.
func codeOf(err error) codes.Code {
	var (
		canceled *resilience.CanceledError
		limited  *resilience.LimitedError
		panicked *resilience.PanicError
	)
	switch {
	case errors.As(err, &canceled):
		return status.FromContextError(canceled.Err).Code()
	case errors.Is(err, resilience.ErrBreakerOpen), errors.Is(err, resilience.ErrClosed):
		return codes.Unavailable
	case errors.As(err, &limited):
		return codes.ResourceExhausted
	case errors.Is(err, resilience.ErrTimeout):
		return codes.DeadlineExceeded
	case errors.As(err, &panicked):
		return codes.Internal
	case err == context.DeadlineExceeded || err == context.Canceled:
		return status.FromContextError(err).Code()
	}
	return codes.Unknown
}
