package grpcres_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/grpcres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// channel is one without a connection: what it answers to the nth attempt.
type channel func(ctx context.Context, n int, reply any, opts []grpc.CallOption) error

// send sends a call through a client to a channel.
func send(ctx context.Context, c *grpcres.Client, reply any, answer channel) error {
	n := 0
	return c.Unary(ctx, callMethod, new(text), reply, nil, func(ctx context.Context, _ string, _, reply any, _ *grpc.ClientConn,
		opts ...grpc.CallOption) error {
		n++
		return answer(ctx, n, reply, opts)
	})
}

// finish does with the options of an attempt what a channel does at its end.
func finish(opts []grpc.CallOption, trailer metadata.MD) {
	for _, o := range opts {
		switch o := o.(type) {
		case grpc.TrailerCallOption:
			*o.TrailerAddr = trailer
		case grpc.OnFinishCallOption:
			o.OnFinish(nil)
		}
	}
}

var errBoom = errors.New("boom")

// GRPC-01: the caller gets the very error of the channel, or of a layer of the user's, without what the layers see of it.
func TestCallerGetsTheErrorItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, err := range []error{errDown, errBoom} {
			c, _ := client(t, grpcres.Config{Layers: []resilience.Layer{thrice}, Idempotent: idempotent})
			if got := send(t.Context(), c, new(text), func(context.Context, int, any, []grpc.CallOption) error { return err }); got != err {
				t.Errorf("a call gets %v (%T), want %v", got, got, err)
			}
			_, got := c.Stream(t.Context(), downDesc, nil, downMethod, func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string,
				...grpc.CallOption) (grpc.ClientStream, error) {
				return nil, err
			})
			if got != err {
				t.Errorf("a stream gets %v (%T), want %v", got, got, err)
			}
		}
	})
}

// RET-04
func TestOwnPredicatesDecide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: events.NewBus()})
		is := func(code codes.Code) func(error) bool {
			return func(err error) bool { return status.Code(err) == code }
		}
		c, heard := client(t, grpcres.Config{Layers: []resilience.Layer{thrice, breaker}, Idempotent: idempotent,
			RetryIf: is(codes.Aborted), FailureIf: is(codes.NotFound)})
		err := send(t.Context(), c, new(text), func(_ context.Context, n int, _ any, _ []grpc.CallOption) error {
			if n == 1 {
				return status.Error(codes.Aborted, "again")
			}
			return errDown
		})
		if err != errDown || breaker.State() != events.StateClosed {
			t.Errorf("got %v, the breaker is %v", err, breaker.State())
		}
		resiliencetest.Want(t, heard, events.RetryScheduled{})
		_ = send(t.Context(), c, new(text), func(context.Context, int, any, []grpc.CallOption) error { return status.Error(codes.NotFound, "") })
		if breaker.State() != events.StateOpen {
			t.Errorf("after what is a failure the breaker is %v", breaker.State())
		}
	})
}

// PITFALLS 21: a Timeout's end is the Timeout's, not an error of the server's, and counts against it.
func TestTimeoutIsNamedByItsLayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := resilience.Timeout{Name: "attempt", After: time.Second}
		for _, around := range [][]resilience.Layer{nil, {resilience.Retry{MaxAttempts: 1}}} {
			breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: events.NewBus()})
			c, _ := client(t, layers(append(around, breaker, limit)...))
			err := send(t.Context(), c, new(text), func(ctx context.Context, _ int, _ any, _ []grpc.CallOption) error {
				<-ctx.Done()
				return status.FromContextError(ctx.Err()).Err()
			})
			var timeout *resilience.TimeoutError
			if !errors.As(err, &timeout) || timeout.Layer != "attempt" || timeout.Err != nil || status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("got %#v", err)
			}
			if breaker.State() != events.StateOpen {
				t.Errorf("the breaker is %v", breaker.State())
			}
		}
	})
}

// outspoken is an error of an interceptor further in, which says itself what it is.
type outspoken struct{ error }

func (*outspoken) Unwrap() error { return &resilience.TimeoutError{Layer: "db"} }

func (*outspoken) GRPCStatus() *status.Status { return status.New(codes.NotFound, "here is nobody") }
func (*outspoken) NotProcessed() bool         { return true }

// RET-04: what an error says of itself counts, and its status is its own.
func TestErrorsThatSayWhatTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sure := thrice
		sure.If = resilience.IsNotProcessed
		c, heard := client(t, grpcres.Config{Layers: []resilience.Layer{sure}, Idempotent: idempotent})
		err := send(t.Context(), c, new(text), func(context.Context, int, any, []grpc.CallOption) error { return &outspoken{errBoom} })
		if status.Code(err) != codes.NotFound {
			t.Errorf("got %v", err)
		}
		resiliencetest.Want(t, heard, events.RetryScheduled{}, events.RetryScheduled{})
	})
}

// The end of a context that a layer of the user's made has a status, too.
func TestEndOfALayersContextHasAStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := client(t, layers(resilience.Around("own", func(ctx context.Context, next func(context.Context) error) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return next(ctx)
		})))
		err := send(t.Context(), c, new(text), func(ctx context.Context, _ int, _ any, _ []grpc.CallOption) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if status.Code(err) != codes.DeadlineExceeded || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// late is a context whose deadline has passed before it ends.
type late struct {
	context.Context
	deadline time.Time
}

func (c late) Deadline() (time.Time, bool) { return c.deadline, true }

// The server knows the deadline and may be the first to notice: the context's own end is waited for, but not forever.
func TestServerThatNoticesTheDeadlineFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ends := range []time.Duration{100 * time.Millisecond, time.Hour} {
			c, heard := client(t, layers(thrice))
			inner, cancel := context.WithTimeout(t.Context(), ends)
			defer cancel()
			began := time.Now()
			err := send(late{inner, began}, c, new(text), func(context.Context, int, any, []grpc.CallOption) error {
				return status.Error(codes.DeadlineExceeded, "the server's")
			})
			took, kind := time.Since(began), resilience.KindOf(err)
			if status.Code(err) != codes.DeadlineExceeded || took != min(ends, time.Second) || (kind == resilience.KindCanceled) != (ends < time.Second) {
				t.Errorf("ends in %v: got %v, a %v, after %v", ends, err, kind, took)
			}
			resiliencetest.Want(t, heard, events.AttemptFinished{})
		}
		c, _ := client(t, layers())
		began := time.Now()
		_ = send(late{t.Context(), began.Add(time.Minute)}, c, new(text), func(context.Context, int, any, []grpc.CallOption) error {
			return status.Error(codes.DeadlineExceeded, "the server's own")
		})
		if took := time.Since(began); took != 0 {
			t.Errorf("before the deadline it waits %v", took)
		}
	})
}

// GRPC-01, RET-12: a pushback makes RESOURCE_EXHAUSTED something that passes; a RetryInfo without a delay says nothing.
func TestResourceIsExhaustedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, err := status.New(codes.ResourceExhausted, "busy").WithDetails(new(errdetails.RetryInfo))
		if err != nil {
			t.Fatal(err)
		}
		for want, said := range map[int]struct {
			err     error
			trailer metadata.MD
		}{
			1: {silent.Err(), nil}, 2: {status.Error(codes.ResourceExhausted, "busy"), metadata.Pairs("grpc-retry-pushback-ms", "20")},
		} {
			attempts := 0
			c, _ := client(t, grpcres.Config{Layers: []resilience.Layer{thrice}, Idempotent: idempotent})
			_ = send(t.Context(), c, new(text), func(_ context.Context, n int, _ any, opts []grpc.CallOption) error {
				if attempts = n; n > 1 {
					return nil
				}
				finish(opts, said.trailer)
				return said.err
			})
			if attempts != want {
				t.Errorf("%v, %v: %d attempts, want %d", said.err, said.trailer, attempts, want)
			}
		}
	})
}

// GRPC-01: each attempt has its own evidence: what the channel told of one is not believed of the next.
func TestAttemptsDoNotShareTheirEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, heard := client(t, grpcres.Config{Layers: []resilience.Layer{thrice}, Idempotent: idempotent})
		_ = send(t.Context(), c, new(text), func(_ context.Context, n int, _ any, opts []grpc.CallOption) error {
			if n == 1 {
				finish(opts, metadata.Pairs("grpc-retry-pushback-ms", "30"))
			}
			return errDown
		})
		resiliencetest.Want(t, heard, events.RetryScheduled{Delay: 30 * time.Millisecond}, events.RetryScheduled{Delay: 5 * time.Millisecond})
	})
}

// The options of an attempt are an interceptor's own to add to, and have the caller's.
func TestInterceptorsMayAddOptions(t *testing.T) {
	c, _ := client(t, layers())
	_ = send(t.Context(), c, new(text), func(_ context.Context, _ int, _ any, opts []grpc.CallOption) error {
		one, other := append(opts, grpc.WaitForReady(true)), append(opts, grpc.WaitForReady(false))
		if o := one[len(one)-1]; o != grpc.WaitForReady(true) {
			t.Errorf("%v was overwritten with %v", o, other[len(other)-1])
		}
		return nil
	})
}

// PIPE-16: a call whose caller has left is canceled, and is not told as one that must not be sent again.
func TestACallWhoseCallerHasLeftIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, heard := client(t, layers(thrice))
		ctx, cancel := context.WithCancel(t.Context())
		_ = send(ctx, c, new(text), func(ctx context.Context, _ int, _ any, _ []grpc.CallOption) error {
			cancel()
			return status.FromContextError(ctx.Err()).Err()
		})
		for _, e := range resiliencetest.Of[events.RetryStopped](heard) {
			if e.Reason == events.ReasonNotRetryable {
				t.Errorf("it stopped as %v", e.Reason)
			}
		}
		resiliencetest.Want(t, heard, events.ExecutionFinished{Outcome: events.OutcomeCanceled})
	})
}

// GRPC-01: where a layer of the user's makes another error of a failure, or asks again by itself, nothing is sent twice.
func TestLayersOfTheUsersDoNotSendTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := resilience.Around("other", func(ctx context.Context, next func(context.Context) error) error {
			if next(ctx) != nil {
				return status.Error(codes.Unavailable, "another")
			}
			return nil
		})
		again := resilience.Around("again", func(ctx context.Context, next func(context.Context) error) error {
			return errors.Join(next(ctx), next(ctx))
		})
		retry := thrice
		for name, one := range map[string]struct {
			layers []resilience.Layer
			want   string
		}{
			"retry":   {[]resilience.Layer{thrice, other}, "rpc error: code = Unavailable desc = another"},
			"pointer": {[]resilience.Layer{&retry, other}, "rpc error: code = Unavailable desc = another"},
			"own":     {[]resilience.Layer{again}, errors.Join(errDown, errDown).Error()},
		} {
			attempts := 0
			c, heard := client(t, layers(one.layers...))
			err := send(t.Context(), c, new(text), func(_ context.Context, n int, _ any, _ []grpc.CallOption) error {
				attempts = n
				return errDown
			})
			if attempts != 1 || err.Error() != one.want {
				t.Errorf("%s: %d attempts, %v", name, attempts, err)
			}
			resiliencetest.WantNone[events.RetryScheduled](t, heard)
		}
	})
}
