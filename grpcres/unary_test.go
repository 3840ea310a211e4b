package grpcres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/grpcres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

func echo(_ context.Context, _ int, in string) (string, error) { return in + "!", nil }

// failing fails the first calls.
func failing(calls int, err error) func(context.Context, int, string) (string, error) {
	return func(ctx context.Context, n int, in string) (string, error) {
		if n <= calls {
			return "", err
		}
		return echo(ctx, n, in)
	}
}

// GRPC-01: a peer that is not reached got nothing: any method is retried.
func TestPeerThatIsNotReachedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{unary: echo})
		s.refuse = 2
		many := thrice
		many.MaxAttempts = 50
		c, heard := client(t, layers(many))
		out, err := call(t.Context(), connect(t, s, c.DialOptions()...), "hello")
		if err != nil || out != "hello!" {
			t.Fatalf("got %q, %v", out, err)
		}
		s.served(t, 1)
		scheduled := resiliencetest.Of[events.RetryScheduled](heard)
		if len(scheduled) == 0 {
			t.Fatal("nothing was retried: the dials did not fail")
		}
		if e := scheduled[0].Err; !resilience.IsNotProcessed(e) || !resilience.IsTransient(e) {
			t.Errorf("the layers see %v, which is not known to be unprocessed", e)
		}
	})
}

// GRPC-01, RET-04
func TestRetryOfTheUnprocessedAloneKnowsWhatWasNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sure := thrice
		sure.MaxAttempts, sure.If = 50, resilience.IsNotProcessed
		s := serve(t, script{unary: failing(1, errDown)})
		s.refuse = 1
		c, heard := client(t, grpcres.Config{Layers: []resilience.Layer{sure}, Idempotent: idempotent})
		cc := connect(t, s, c.DialOptions()...)
		if _, err := call(t.Context(), cc, "x"); status.Code(err) != codes.Unavailable {
			t.Errorf("got %v", err)
		}
		s.served(t, 1)
		resiliencetest.Want(t, heard, events.RetryStopped{Reason: events.ReasonNotRetryable})
		if len(resiliencetest.Of[events.RetryScheduled](heard)) == 0 {
			t.Error("the dial that failed was not tried again")
		}
	})
}

// GRPC-01: what the server got is sent again only if that does no harm.
func TestUnavailableIsRetriedForIdempotentMethodsOnly(t *testing.T) {
	for name, c := range map[string]struct {
		idempotent func(string) bool
		calls      int
	}{
		"unknown method": {nil, 1},
		"method":         {grpcres.Methods("/test.Echo/Call"), 3},
		"service":        {grpcres.Methods("test.Echo/"), 3},
		"another":        {grpcres.Methods("/test.Echo/Down", "/test/"), 1},
	} {
		bubble(t, name, func(t *testing.T) {
			s := serve(t, script{unary: failing(2, errDown)})
			cl, heard := client(t, grpcres.Config{Layers: []resilience.Layer{thrice}, Idempotent: c.idempotent})
			out, err := call(t.Context(), connect(t, s, cl.DialOptions()...), "x")
			s.served(t, c.calls)
			if c.calls == 1 {
				resiliencetest.Want(t, heard, events.RetryStopped{Reason: events.ReasonNotRetryable})
				if fmt.Sprint(err) != errDown.Error() || status.Code(err) != codes.Unavailable {
					t.Errorf("got %v, want what the server said", err)
				}
			} else if err != nil || out != "x!" {
				t.Errorf("got %q, %v", out, err)
			}
		})
	}
}

// GRPC-01: a connection that breaks while the server is at it.
func TestConnectionThatBreaksMayHaveBeenHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for calls, known := range map[int]func(string) bool{1: nil, 2: idempotent} {
			var s *server
			s = serve(t, script{unary: func(ctx context.Context, n int, in string) (string, error) {
				if n == 1 {
					s.cut()
					<-ctx.Done()
				}
				return in, nil
			}})
			c, _ := client(t, grpcres.Config{Layers: []resilience.Layer{thrice}, Idempotent: known})
			_, err := call(t.Context(), connect(t, s, append(c.DialOptions(), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))...), "x")
			s.served(t, calls)
			if (err == nil) != (calls == 2) {
				t.Errorf("%d calls: got %v", calls, err)
			}
		}
	})
}

func withTrailer(values ...string) func(context.Context, int, string) (string, error) {
	return func(ctx context.Context, n int, in string) (string, error) {
		if n > 1 {
			return in, nil
		}
		md := metadata.MD{"grpc-retry-pushback-ms": values}
		grpc.SetTrailer(ctx, md)
		return "", errDown
	}
}

// GRPC-01, RET-12: gRFC A6, "Pushback".
func TestServerPushesBack(t *testing.T) {
	for name, c := range map[string]struct {
		values []string
		calls  int
		delay  time.Duration
	}{
		"a while":    {[]string{"30"}, 2, 30 * time.Millisecond},
		"at once":    {[]string{"0"}, 2, 5 * time.Millisecond}, // the backoff's
		"too long":   {[]string{"9223372036854775808"}, 2, 40 * time.Millisecond},
		"overflows":  {[]string{"9223372036854775"}, 2, 40 * time.Millisecond},
		"never":      {[]string{"-1"}, 1, 0},
		"not a word": {[]string{"soon"}, 1, 0},
		"signed":     {[]string{"+5"}, 1, 0},
		"empty":      {[]string{""}, 1, 0},
		"twice":      {[]string{"1", "2"}, 1, 0},
	} {
		bubble(t, name, func(t *testing.T) {
			s := serve(t, script{unary: withTrailer(c.values...)})
			capped := thrice
			capped.MaxDelay = 40 * time.Millisecond
			cl, heard := client(t, grpcres.Config{Layers: []resilience.Layer{capped}, Idempotent: idempotent})
			_, err := call(t.Context(), connect(t, s, cl.DialOptions()...), "x")
			s.served(t, c.calls)
			if (err == nil) != (c.calls == 2) {
				t.Errorf("got %v", err)
			}
			if c.calls == 1 {
				resiliencetest.Want(t, heard, events.RetryStopped{Reason: events.ReasonNotRetryable})
				return
			}
			if d := resiliencetest.Of[events.RetryScheduled](heard)[0]; d.Delay != c.delay || d.HintedByPeer != (c.delay > 5*time.Millisecond) {
				t.Errorf("the delay is %v, hinted %t, want %v", d.Delay, d.HintedByPeer, c.delay)
			}
		})
	}
}

func detailed(code codes.Code, after time.Duration) error {
	st, err := status.New(code, "busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)})
	if err != nil {
		panic(err)
	}
	return st.Err()
}

// GRPC-01, RET-12: google.rpc.RetryInfo is a hint, too, and makes RESOURCE_EXHAUSTED something that passes.
func TestServerSaysWhenItHasTime(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		calls int
		delay time.Duration
	}{
		"unavailable":         {detailed(codes.Unavailable, 20*time.Millisecond), 2, 20 * time.Millisecond},
		"exhausted":           {detailed(codes.ResourceExhausted, 20*time.Millisecond), 2, 20 * time.Millisecond},
		"exhausted, negative": {detailed(codes.ResourceExhausted, -time.Second), 2, 5 * time.Millisecond},
		"exhausted, no word":  {status.Error(codes.ResourceExhausted, "quota"), 1, 0},
		"internal":            {detailed(codes.Internal, 20*time.Millisecond), 1, 0},
	} {
		bubble(t, name, func(t *testing.T) {
			s := serve(t, script{unary: failing(1, c.err)})
			cl, heard := client(t, grpcres.Config{Layers: []resilience.Layer{thrice}, Idempotent: idempotent})
			call(t.Context(), connect(t, s, cl.DialOptions()...), "x")
			s.served(t, c.calls)
			if c.calls == 2 {
				resiliencetest.Want(t, heard, events.RetryScheduled{Delay: c.delay})
			}
		})
	}
}

// GRPC-01: the attempt's number travels: gRFC A6.
func TestAttemptsAreNumberedForTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []int
		s := serve(t, script{unary: func(ctx context.Context, n int, in string) (string, error) {
			seen = append(seen, grpcres.PreviousAttempts(ctx))
			if md, _ := metadata.FromIncomingContext(ctx); !slices.Equal(md["own"], []string{"1"}) || md[grpcres.PriorityKey] != nil {
				t.Errorf("the server gets %v", md)
			}
			return failing(2, errDown)(ctx, n, in)
		}})
		c, _ := client(t, grpcres.Config{Layers: []resilience.Layer{thrice}, Idempotent: idempotent})
		ctx := metadata.AppendToOutgoingContext(t.Context(), "grpc-previous-rpc-attempts", "-7", "grpc-previous-rpc-attempts", "7", "own", "1")
		if _, err := call(ctx, connect(t, s, c.DialOptions()...), "x"); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.before, []string{"-7", "7", "1", "2"}) || !slices.Equal(seen, []int{7, 1, 2}) {
			t.Errorf("the server got %v, %v", s.before, seen)
		}
	})
}

func hang(ctx context.Context, n int, in string) (string, error) {
	if n == 1 {
		<-ctx.Done()
		return "", status.FromContextError(ctx.Err()).Err()
	}
	return in, nil
}

// GRPC-01, PITFALLS 21: an attempt's own timeout is no end of the caller's.
func TestServerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for calls, known := range map[int]func(string) bool{1: nil, 2: idempotent} {
			s := serve(t, script{unary: hang})
			c, heard := client(t, grpcres.Config{Idempotent: known,
				Layers: []resilience.Layer{thrice, resilience.Timeout{Name: "attempt", After: 60 * time.Millisecond}}})
			_, err := call(t.Context(), connect(t, s, c.DialOptions()...), "x")
			s.served(t, calls)
			if calls == 2 {
				if err != nil {
					t.Error(err)
				}
				continue
			}
			if !errors.Is(err, resilience.ErrTimeout) || status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("got %v", err)
			}
			resiliencetest.Want(t, heard, events.RetryStopped{Reason: events.ReasonNotRetryable})
		}
	})
}

func TestCallersEndIsTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: events.NewBus()})
		s := serve(t, script{unary: hang})
		c, heard := client(t, grpcres.Config{Layers: []resilience.Layer{thrice, breaker, resilience.Timeout{}}, Idempotent: idempotent})
		cc := connect(t, s, c.DialOptions()...)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := call(ctx, cc, "x")
		if resilience.KindOf(err) != resilience.KindCanceled || status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
		resiliencetest.Want(t, heard, events.AttemptFinished{})
		if breaker.State() != events.StateClosed {
			t.Errorf("the breaker is %v", breaker.State())
		}
	})
}
