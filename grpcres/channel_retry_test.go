package grpcres_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/grpcres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// policy has a channel retry by itself.
var policy = grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{"service": "test.Echo"}], "retryPolicy": {"maxAttempts": 4,
	"initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`)

// GRPC-03
func TestChannelsOwnRetryIsSwitchedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{unary: failing(100, errDown), stream: downStream(0, 0, 0, 0, 0)})
		c, heard := client(t, grpcres.Config{Layers: []resilience.Layer{thrice}, Idempotent: idempotent})
		cc := connect(t, s, append(c.DialOptions(), policy)...)
		if _, err := call(t.Context(), cc, "x"); status.Code(err) != codes.Unavailable {
			t.Errorf("got %v", err)
		}
		s.served(t, 3)
		s.calls.Store(0)
		st, err := down(t.Context(), cc, "m")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := receive(st); status.Code(err) != codes.Unavailable {
			t.Errorf("got %v", err)
		}
		s.served(t, 3)
		resiliencetest.WantNone[events.ConfigWarning](t, heard)
	})
}

// GRPC-03: who takes the interceptors alone is told, once a method.
func TestChannelsOwnRetryIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{unary: failing(100, errDown), stream: downStream()})
		c, heard := client(t, grpcres.Config{Layers: []resilience.Layer{thrice}, Idempotent: idempotent})
		cc := connect(t, s, policy, grpc.WithChainUnaryInterceptor(c.Unary), grpc.WithChainStreamInterceptor(c.Stream))
		for range 3 {
			if _, err := call(t.Context(), cc, "x"); err == nil {
				t.Error("no error")
			}
		}
		s.served(t, 3*3*4) // they multiply
		for range 2 {
			if st, err := down(t.Context(), cc, "m"); err == nil {
				all(st)
			}
		}
		nested := events.ConfigWarning{Code: events.WarningNestedRetry}
		resiliencetest.Want(t, heard, nested, nested)
		for i, w := range resiliencetest.Of[events.ConfigWarning](heard) {
			if method := []string{callMethod, downMethod}[i%2]; !strings.Contains(w.Message, method) {
				t.Errorf("the warning is %q", w.Message)
			}
		}
		if w := c.Describe().Warnings; len(w) != 2 {
			t.Errorf("the description has the warnings %+v", w)
		}
	})
}

// GRPC-03: nothing is told where one of the two does not retry.
func TestChannelWithoutARetryIsNotReported(t *testing.T) {
	for name, c := range map[string]struct {
		layers []resilience.Layer
		opts   []grpc.DialOption
	}{
		"no policy": {[]resilience.Layer{thrice}, nil},
		"no retry":  {[]resilience.Layer{resilience.Retry{MaxAttempts: 1}}, []grpc.DialOption{policy}},
	} {
		bubble(t, name, func(t *testing.T) {
			s := serve(t, script{unary: echo})
			cl, heard := client(t, layers(c.layers...))
			cc := connect(t, s, append(c.opts, grpc.WithChainUnaryInterceptor(cl.Unary))...)
			for range 2 { // the first has the channel read its service config
				if _, err := call(t.Context(), cc, "x"); err != nil {
					t.Error(err)
				}
			}
			resiliencetest.WantNone[events.ConfigWarning](t, heard)
		})
	}
}

// GRPC-01: where the channel may have sent the call before it found nobody, nothing is proved.
func TestRetriesOfTheChannelProveNothing(t *testing.T) {
	for name, c := range map[string]struct {
		policy bool
		stops  events.Reason
	}{
		"policy": {true, events.ReasonNotRetryable}, "none": {false, events.ReasonExhausted},
	} {
		bubble(t, name, func(t *testing.T) {
			s := serve(t, script{unary: echo})
			s.refuse = 1 << 30
			cl, heard := client(t, layers(thrice))
			opts := []grpc.DialOption{grpc.WithChainUnaryInterceptor(cl.Unary)}
			if c.policy {
				opts = append(opts, policy)
			}
			if _, err := call(t.Context(), connect(t, s, opts...), "x"); err == nil {
				t.Error("no error")
			}
			resiliencetest.Want(t, heard, events.RetryStopped{Reason: c.stops})
		})
	}
}

// GRPC-01: nor where an interceptor further in answers by itself.
func TestAnswersThatAreNotTheChannelsProveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{unary: echo})
		c, heard := client(t, layers(thrice))
		cc := connect(t, s, append(c.DialOptions(), grpc.WithChainUnaryInterceptor(unavailable))...)
		if _, err := call(t.Context(), cc, "x"); err == nil {
			t.Error("no error")
		}
		resiliencetest.Want(t, heard, events.RetryStopped{Reason: events.ReasonNotRetryable})
	})
}
