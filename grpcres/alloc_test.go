//go:build !race

package grpcres_test

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/telltale-go/telltale/grpcres"
)

// BUS-02: with nobody listening, what a unary call that succeeds allocates beside what it does without a client of ours: the
// call itself, the options that tell it what was sent, and where they put it.
func TestAllocationsOfAUnaryCall(t *testing.T) {
	s := serve(t, script{unary: echo})
	each := func(opts ...grpc.DialOption) float64 {
		cc := connect(t, s, opts...)
		in, out := wrapperspb.String("in"), new(text)
		return testing.AllocsPerRun(500, func() {
			if err := cc.Invoke(t.Context(), callMethod, in, out); err != nil {
				t.Fatal(err)
			}
		})
	}
	c, err := grpcres.NewClient(grpcres.Config{Name: "test", Idempotent: idempotent})
	if err != nil {
		t.Fatal(err)
	}
	bare, ours := each(), each(c.DialOptions()...)
	if ours-bare > 12 {
		t.Errorf("%v allocations more than the %v of a bare client", ours-bare, bare)
	}
}
