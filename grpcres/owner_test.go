package grpcres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/grpcres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// GRPC-03: calls and streams each have their own layers, and are told of for themselves.
func TestOnlyWhatRetriesIsReported(t *testing.T) {
	once := resilience.Retry{MaxAttempts: 1}
	own := resilience.Around("own", func(ctx context.Context, next func(context.Context) error) error { return next(ctx) })
	for name, c := range map[string]struct {
		calls, streams []resilience.Layer
		want           int
	}{
		"one attempt": {[]resilience.Layer{once, &once}, nil, 0}, "a timeout": {[]resilience.Layer{resilience.Timeout{}, &resilience.Timeout{}}, nil, 0},
		"a gate": {[]resilience.Layer{bulkhead()}, nil, 0}, "a layer of the user's": {[]resilience.Layer{own}, nil, 2},
		"calls":   {[]resilience.Layer{thrice}, []resilience.Layer{once}, 1},
		"streams": {[]resilience.Layer{once}, []resilience.Layer{thrice}, 1}, "pointer": {[]resilience.Layer{&thrice}, []resilience.Layer{}, 1},
	} {
		bubble(t, name, func(t *testing.T) {
			s := serve(t, script{unary: echo, stream: downStream()})
			cl, heard := client(t, grpcres.Config{Layers: c.calls, StreamLayers: c.streams})
			cc := connect(t, s, policy, grpc.WithChainUnaryInterceptor(cl.Unary), grpc.WithChainStreamInterceptor(cl.Stream))
			for range 2 { // the first has the channel read its service config
				if _, err := call(t.Context(), cc, "x"); err != nil {
					t.Error(err)
				}
				st, err := down(t.Context(), cc, "m")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := all(st); err != nil {
					t.Error(err)
				}
			}
			n := 0
			for _, w := range resiliencetest.Of[events.ConfigWarning](heard) {
				if w.Code == events.WarningNestedRetry {
					n++
				}
			}
			if n != c.want {
				t.Errorf("%d warnings, want %d", n, c.want)
			}
		})
	}
}

// GRPC-03: sixteen methods are told of, and where no bus is set it is the default one that is.
func TestSixteenMethodsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := resiliencetest.Record(events.Default(), "many methods")
		defer heard.Stop()
		c := grpcres.MustClient(grpcres.Config{Name: "many methods", Layers: []resilience.Layer{thrice}})
		s := serve(t, script{unary: echo})
		cc := connect(t, s, policy)
		if _, err := call(t.Context(), cc, "x"); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			_ = c.Unary(t.Context(), fmt.Sprint("/test.Echo/Call", i), new(text), new(text), cc, unreached)
		}
		if n := len(resiliencetest.Of[events.ConfigWarning](heard)); n != 16 {
			t.Errorf("%d warnings", n)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func unreached(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
	return nil
}

// GRPC-01: what xDS has a channel retry cannot be seen: nothing is proved, unless the channel is known not to.
func TestChannelOfXDSProvesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		options func(*grpcres.Client) []grpc.DialOption
		stops   events.Reason
	}{
		"owned": {(*grpcres.Client).DialOptions, events.ReasonExhausted},
		"not owned": {func(c *grpcres.Client) []grpc.DialOption {
			return []grpc.DialOption{grpc.WithChainUnaryInterceptor(c.Unary)}
		}, events.ReasonNotRetryable},
	} {
		bubble(t, name, func(t *testing.T) {
			found := manual.NewBuilderWithScheme("xds")
			found.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: "server.test"}}})
			s := serve(t, script{unary: echo})
			s.refuse = 1 << 30
			cl, heard := client(t, layers(thrice))
			cc := connectTo(t, s, "xds:///server.test", append(c.options(cl), grpc.WithResolvers(found))...)
			if _, err := call(t.Context(), cc, "x"); status.Code(err) != codes.Unavailable {
				t.Errorf("got %v", err)
			}
			resiliencetest.Want(t, heard, events.RetryStopped{Reason: c.stops})
		})
	}
}

// Two clients of one configuration have their own breakers, and a client that is closed refuses calls and streams.
func TestClientsOfOneConfigurationAreTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := grpcres.Standard("one of two")
		cfg.Bus = events.NewBus()
		one, other := grpcres.MustClient(cfg), grpcres.MustClient(cfg)
		down := func(context.Context, int, any, []grpc.CallOption) error { return errDown }
		for range grpcres.StandardMinCalls {
			_ = send(t.Context(), one, new(text), down)
		}
		if err := send(t.Context(), one, new(text), down); !errors.Is(err, resilience.ErrBreakerOpen) {
			t.Errorf("one gets %v", err)
		}
		if err := send(t.Context(), other, new(text), down); err != errDown {
			t.Errorf("the other gets %v", err)
		}
		if err := other.Close(t.Context()); err != nil {
			t.Error(err)
		}
		streamer := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
			return nil, errDown
		}
		if _, err := other.Stream(t.Context(), downDesc, nil, downMethod, streamer); !errors.Is(err, resilience.ErrClosed) {
			t.Errorf("a stream after Close gets %v", err)
		}
		if err := send(t.Context(), other, new(text), down); !errors.Is(err, resilience.ErrClosed) {
			t.Errorf("a call after Close gets %v", err)
		}
	})
}
