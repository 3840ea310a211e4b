package grpcres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/telltale-go/telltale/grpcres"
	"github.com/telltale-go/telltale/resilience"
)

func unavailable(context.Context, string, any, any, *grpc.ClientConn, grpc.UnaryInvoker, ...grpc.CallOption) error {
	return errDown
}

// slowFirst has the first attempt of each call come late, and tells in the header which one answered.
func slowFirst(late time.Duration) func(context.Context, int, string) (string, error) {
	return func(ctx context.Context, _ int, in string) (string, error) {
		n := grpcres.PreviousAttempts(ctx)
		if n == 0 {
			select {
			case <-time.After(late):
			case <-ctx.Done():
			}
		}
		grpc.SetTrailer(ctx, metadata.Pairs("answered", fmt.Sprint(n)))
		grpc.SetHeader(ctx, metadata.Pairs("answered", fmt.Sprint(n)))
		return fmt.Sprint(in, n), nil
	}
}

// GRPC-01: attempts beside each other write into replies, headers and peers of their own.
func TestHedgedCallsDoNotShareAReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{unary: slowFirst(time.Minute)})
		c, _ := client(t, grpcres.Config{Layers: []resilience.Layer{resilience.Hedge{Delay: 10 * time.Millisecond}},
			StreamLayers: []resilience.Layer{}, Idempotent: idempotent})
		cc := connect(t, s, c.DialOptions()...)
		var done sync.WaitGroup
		for i := range 20 {
			done.Go(func() {
				var header, trailer metadata.MD
				var from peer.Peer
				out, err := call(t.Context(), cc, fmt.Sprint(i, "-"), grpc.Header(&header), grpc.Trailer(&trailer), grpc.Peer(&from))
				if err != nil || out != fmt.Sprint(i, "-1") || !slices.Equal(header["answered"], []string{"1"}) ||
					!slices.Equal(trailer["answered"], []string{"1"}) || from.Addr == nil {
					t.Errorf("got %q, %v, %v, %v from %v", out, err, header, trailer, from)
				}
			})
		}
		done.Wait()
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// GRPC-01: what may not be sent twice is not hedged.
func TestOnlyIdempotentMethodsAreHedged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{unary: slowFirst(100 * time.Millisecond)})
		c, _ := client(t, grpcres.Config{Layers: []resilience.Layer{resilience.Hedge{Delay: 10 * time.Millisecond}}, StreamLayers: []resilience.Layer{}})
		out, err := call(t.Context(), connect(t, s, c.DialOptions()...), "x")
		if err != nil || out != "x0" {
			t.Errorf("got %q, %v", out, err)
		}
		s.served(t, 1)
	})
}

// A Timeout that abandons returns while the call still runs: it must not write into the caller's reply.
func TestAbandonedCallWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{unary: echo})
		late := make(chan struct{})
		c, _ := client(t, grpcres.Config{Layers: []resilience.Layer{resilience.Timeout{After: 30 * time.Millisecond, Abandon: true}}, StreamLayers: []resilience.Layer{}})
		cc := connect(t, s, append(c.DialOptions(), grpc.WithChainUnaryInterceptor(func(_ context.Context, method string, req, reply any,
			cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			<-late
			return next(context.Background(), method, req, reply, cc, opts...)
		}))...)
		out, err := call(t.Context(), cc, "x")
		close(late)
		if closed := c.Close(t.Context()); closed != nil {
			t.Error(closed)
		}
		if !errors.Is(err, resilience.ErrTimeout) || out != "" {
			t.Errorf("got %q, %v", out, err)
		}
	})
}

// A layer that looks at results is one of replies.
func TestFallbackAnswersWithAReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := wrapperspb.String("kept")
		s := serve(t, script{unary: failing(100, errDown)})
		for name, c := range map[string]struct {
			answer any
			want   string
		}{
			"reply": {kept, "kept"}, "another message": {wrapperspb.Bool(true), ""}, "no message": {7, ""}, "nothing": {nil, ""},
		} {
			cl, _ := client(t, layers(resilience.FallbackTo(func(context.Context, any, error) (any, error) { return c.answer, nil })))
			out, err := call(t.Context(), connect(t, s, cl.DialOptions()...), "x")
			if out != c.want || (err == nil) != (c.want != "") {
				t.Errorf("%s: got %q, %v", name, out, err)
			}
		}
		if kept.Value != "kept" {
			t.Error("the layer's own message was changed")
		}
	})
}

// GRPC-01
func TestZeroClientRefuses(t *testing.T) {
	s := serve(t, script{unary: echo})
	var none grpcres.Client
	cc := connect(t, s, grpc.WithChainUnaryInterceptor(none.Unary), grpc.WithChainStreamInterceptor(none.Stream))
	if _, err := call(t.Context(), cc, "x"); err == nil {
		t.Error("a zero Client sends")
	}
	if _, err := down(t.Context(), cc, "x"); err == nil {
		t.Error("a zero Client opens streams")
	}
	if none.Describe().Name != "" || none.DescribeStreams().Name != "" || none.Close(t.Context()) != nil {
		t.Error("a zero Client is somebody")
	}
}
