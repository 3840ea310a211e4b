//go:build !race

package grpcres_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/grpcres"
)

// measured is a client without layers or with those of a preset, on a bus that nobody listens to.
func measured(t *testing.T, name string) *grpcres.Client {
	t.Helper()
	cfg := grpcres.Config{Name: "alloc"}
	if name == "a preset" {
		cfg = grpcres.Standard("alloc")
	}
	cfg.Bus = events.NewBus()
	return grpcres.MustClient(cfg)
}

// BUS-02: with nobody listening, what a unary call that succeeds costs besides its channel: the call itself, which has
// the place for what the first attempt is told, and two functions, one for the pipeline and one for the channel. The
// rest is the pipeline's: the record of a call whose value is held, and the preset's timeouts.
func TestAllocationsOfAUnaryCall(t *testing.T) {
	for name, most := range map[string]float64{"no layers": 4, "a preset": 8} {
		c := measured(t, name)
		in, out := wrapperspb.String("in"), new(text)
		answers := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
		own := []grpc.CallOption{grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(1 << 20), grpc.MaxCallSendMsgSize(1 << 20)}
		for _, opts := range [][]grpc.CallOption{nil, own} {
			if n := testing.AllocsPerRun(500, func() {
				if err := c.Unary(t.Context(), callMethod, in, out, nil, answers, opts...); err != nil {
					t.Fatal(err)
				}
			}); n > most {
				t.Errorf("%s, %d options of the caller's: %v allocations, want at most %v", name, len(opts), n, most)
			}
		}
	}
}

// BUS-02: the same beside what a channel does. A preset gives a call a deadline, and that is what costs most: the
// channel tells it, and the server, which is in the same process, makes it one of its own. So the bare call has one, too.
func TestAllocationsAddedToAUnaryCall(t *testing.T) {
	s := serve(t, script{unary: echo})
	each := func(limit time.Duration, opts ...grpc.DialOption) float64 {
		cc := connect(t, s, opts...)
		in, out := wrapperspb.String("in"), new(text)
		return testing.AllocsPerRun(500, func() {
			ctx := t.Context()
			if limit > 0 {
				limited, cancel := context.WithTimeout(ctx, limit)
				defer cancel()
				ctx = limited
			}
			if err := cc.Invoke(ctx, callMethod, in, out); err != nil {
				t.Fatal(err)
			}
		})
	}
	for name, c := range map[string]struct {
		limit time.Duration
		most  float64
	}{"no layers": {0, 6}, "a preset": {time.Minute, 6}} {
		bare := each(c.limit)
		if added := each(0, measured(t, name).DialOptions()...) - bare; added > c.most {
			t.Errorf("%s: %v allocations more than the %v of a bare client, want at most %v", name, added, bare, c.most)
		}
	}
}

// BUS-02: a server without layers costs one function a call, and nothing for a priority that did not come.
func TestAllocationsOfAServer(t *testing.T) {
	s := grpcres.MustServer(grpcres.ServerConfig{Name: "alloc", Bus: events.NewBus()})
	in := wrapperspb.String("in")
	answers := func(context.Context, any) (any, error) { return in, nil }
	if n := testing.AllocsPerRun(500, func() {
		if _, err := s.Unary(t.Context(), in, &grpc.UnaryServerInfo{FullMethod: callMethod}, answers); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations, want at most 1", n)
	}
}
