package grpcres_test

import (
	"context"
	"errors"
	"io"
	"strings"
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

// guarded is a server whose calls pass layers.
func guarded(t *testing.T, does script, cfg grpcres.ServerConfig) (*server, *resiliencetest.Recorder) {
	t.Helper()
	cfg.Name = "server"
	if cfg.Bus == nil {
		cfg.Bus = events.NewBus()
	}
	heard := resiliencetest.Record(cfg.Bus)
	g, err := grpcres.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, does, g.ServerOptions()...), heard
}

// blocked is a server whose one place is taken until release is called.
func blocked(t *testing.T, cfg grpcres.ServerConfig, layer resilience.Layer) (cc *grpc.ClientConn, release func()) {
	t.Helper()
	inside, leave := make(chan struct{}), make(chan struct{})
	cfg.Layers = []resilience.Layer{layer}
	s, _ := guarded(t, script{unary: func(_ context.Context, n int, in string) (string, error) {
		if n == 1 {
			close(inside)
			<-leave
		}
		return in, nil
	}, stream: downStream()}, cfg)
	cc = connect(t, s)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		call(context.Background(), cc, "first")
	}()
	<-inside
	return cc, func() {
		close(leave)
		<-ended
	}
}

func retryInfo(err error) (time.Duration, bool) {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration(), true
		}
	}
	return 0, false
}

// GRPC-01: a server that has no place says when to come back, in both of gRPC's ways, and goes on when it has.
func TestServerShedsLoad(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		want  time.Duration
		ms    string
	}{
		"default": {0, time.Second, "1000"}, "own": {1500 * time.Microsecond, 1500 * time.Microsecond, "2"}, "nothing": {-1, 0, ""},
	} {
		bubble(t, name, func(t *testing.T) {
			places := bulkhead()
			cc, release := blocked(t, grpcres.ServerConfig{RetryAfter: c.after}, places)
			var trailer metadata.MD
			_, err := call(t.Context(), cc, "x", grpc.Trailer(&trailer))
			after, said := retryInfo(err)
			if status.Code(err) != codes.Unavailable || after != c.want || said != (c.want > 0) ||
				strings.Join(trailer["grpc-retry-pushback-ms"], ",") != c.ms {
				t.Errorf("got %v, after %v, %v", err, after, trailer)
			}
			st, err := down(t.Context(), cc, "m")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := receive(st); status.Code(err) != codes.Unavailable || strings.Join(st.Trailer()["grpc-retry-pushback-ms"], ",") != c.ms {
				t.Errorf("a stream gets %v, %v", err, st.Trailer())
			}
			release()
			if out, err := call(t.Context(), cc, "x"); err != nil || out != "x" || used(places) != 0 {
				t.Errorf("and then %q, %v, %d places held", out, err, used(places))
			}
		})
	}
}

func TestServerSaysWhenARateAllowsMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "rate", Rate: 1, Per: time.Minute, Burst: 1, Bus: events.NewBus()})
		s, _ := guarded(t, script{unary: echo}, grpcres.ServerConfig{Layers: []resilience.Layer{limiter}})
		cc := connect(t, s)
		if _, err := call(t.Context(), cc, "x"); err != nil {
			t.Fatal(err)
		}
		_, err := call(t.Context(), cc, "x")
		if after, _ := retryInfo(err); status.Code(err) != codes.ResourceExhausted || after != time.Minute {
			t.Errorf("got %v after %v", err, after)
		}
	})
}

// GRPC-01, RET-12: our client and our server understand each other.
func TestClientWaitsForAServerThatSheds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := bulkhead()
		cc, release := blocked(t, grpcres.ServerConfig{RetryAfter: 30 * time.Millisecond}, places)
		c, heard := client(t, grpcres.Config{Layers: []resilience.Layer{thrice}, Idempotent: idempotent})
		once := false
		c.Unary(t.Context(), callMethod, nil, new(text), cc, func(ctx context.Context, method string, _, reply any, cc *grpc.ClientConn, opts ...grpc.CallOption) error {
			if once {
				release()
			}
			once = true
			return cc.Invoke(ctx, method, new(text), reply, opts...)
		})
		resiliencetest.Want(t, heard, events.RetryScheduled{Delay: 30 * time.Millisecond}, events.ExecutionFinished{Outcome: events.OutcomeSuccess})
	})
}

// The priority travels with the call, unless the server decides.
func TestPriorityTravels(t *testing.T) {
	for name, c := range map[string]struct {
		ctx    func(context.Context) context.Context
		decide func(context.Context, string) resilience.Priority
		want   resilience.Priority
	}{
		"none": {func(ctx context.Context) context.Context { return ctx }, nil, resilience.PriorityNormal},
		"low":  {func(ctx context.Context) context.Context { return resilience.WithPriority(ctx, resilience.PriorityLow) }, nil, resilience.PriorityLow},
		"sheddable": {func(ctx context.Context) context.Context {
			return resilience.WithPriority(ctx, resilience.PrioritySheddable)
		}, nil, resilience.PrioritySheddable},
		"critical": {func(ctx context.Context) context.Context {
			return resilience.WithPriority(ctx, resilience.PriorityCritical)
		}, nil, resilience.PriorityCritical},
		"unknown": {func(ctx context.Context) context.Context {
			return metadata.AppendToOutgoingContext(ctx, grpcres.PriorityKey, "urgent")
		}, nil, resilience.PriorityNormal},
		"decided": {func(ctx context.Context) context.Context {
			return resilience.WithPriority(ctx, resilience.PriorityCritical)
		},
			func(context.Context, string) resilience.Priority { return resilience.PrioritySheddable }, resilience.PrioritySheddable},
	} {
		bubble(t, name, func(t *testing.T) {
			var got []resilience.Priority
			s, _ := guarded(t, script{unary: func(ctx context.Context, _ int, in string) (string, error) {
				got = append(got, resilience.PriorityOf(ctx))
				return in, nil
			}, stream: func(_ int, ss grpc.ServerStream) error {
				got = append(got, resilience.PriorityOf(ss.Context()))
				return nil
			}}, grpcres.ServerConfig{Priority: c.decide})
			cl, _ := client(t, layers())
			cc := connect(t, s, cl.DialOptions()...)
			ctx := c.ctx(t.Context())
			if _, err := call(ctx, cc, "x"); err != nil {
				t.Fatal(err)
			}
			st, err := down(ctx, cc, "m")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := receive(st); err != io.EOF {
				t.Fatal(err)
			}
			if len(got) != 2 || got[0] != c.want || got[1] != c.want {
				t.Errorf("the handlers see %v, want %v", got, c.want)
			}
			if len(s.before) != 0 {
				t.Errorf("first attempts are numbered %v", s.before)
			}
		})
	}
}

// A handler's panic is answered, told, and leaves no permit behind.
func TestHandlerThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged.take()
		places := bulkhead()
		s, heard := guarded(t, script{
			unary:  func(context.Context, int, string) (string, error) { panic("secret") },
			stream: func(int, grpc.ServerStream) error { panic("secret") },
		}, grpcres.ServerConfig{Layers: []resilience.Layer{places}})
		cc := connect(t, s)
		_, err := call(t.Context(), cc, "x")
		st, opened := down(t.Context(), cc, "m")
		if opened != nil {
			t.Fatal(opened)
		}
		_, streamed := receive(st)
		if n := strings.Count(logged.take(), "panic in a handler: secret"); n != 2 {
			t.Errorf("%d panics are in gRPC's log", n)
		}
		for _, err := range []error{err, streamed} {
			if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "secret") {
				t.Errorf("the client gets %v", err)
			}
		}
		synctest.Wait()
		if n := used(places); n != 0 {
			t.Errorf("%d places are held", n)
		}
		told := resiliencetest.Of[events.ExecutionFinished](heard)
		for _, e := range told {
			var p *resilience.PanicError
			if !errors.As(e.Err, &p) || p.Value != "secret" || len(p.Stack) == 0 {
				t.Errorf("told is %v", e.Err)
			}
		}
		if len(told) != 2 {
			t.Errorf("%d executions are told", len(told))
		}
	})
}

func TestHandlersOwnErrorsAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, err := range map[codes.Code]error{
			codes.NotFound: status.Error(codes.NotFound, "none"), codes.Unknown: errors.New("boom"),
			codes.Unavailable: &resilience.BreakerOpenError{Name: "db"}, codes.DeadlineExceeded: &resilience.TimeoutError{Layer: "db"},
		} {
			s, _ := guarded(t, script{unary: failing(1, err)}, grpcres.ServerConfig{})
			if _, got := call(t.Context(), connect(t, s), "x"); status.Code(got) != want {
				t.Errorf("%v: got %v", want, got)
			}
		}
	})
}

func TestClosedServerTurnsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := grpcres.MustServer(grpcres.ServerConfig{Name: "server", Bus: events.NewBus()})
		s := serve(t, script{unary: echo}, g.ServerOptions()...)
		if err := g.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := call(t.Context(), connect(t, s), "x"); status.Code(err) != codes.Unavailable {
			t.Errorf("got %v", err)
		}
		var none grpcres.Server
		if _, err := none.Unary(t.Context(), nil, &grpc.UnaryServerInfo{}, nil); err == nil || none.Describe().Name != "" || none.Close(t.Context()) != nil {
			t.Error("a zero Server is somebody")
		}
	})
}
