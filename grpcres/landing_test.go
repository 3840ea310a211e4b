package grpcres_test

import (
	"context"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/telltale-go/telltale/resilience"
)

// plain is a reply of another codec's.
type plain struct{ V string }

// GRPC-01: an attempt that may run beside others has a reply of its own, others write into the caller's.
func TestAttemptsThatMayRunBesideOthersHaveTheirOwnReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flight := resilience.MustSingleflight(resilience.SingleflightConfig{})
		own := resilience.Around("own", func(ctx context.Context, next func(context.Context) error) error { return next(ctx) })
		retry, timeout, places := thrice, resilience.Timeout{}, bulkhead()
		for name, c := range map[string]struct {
			layer resilience.Layer
			own   bool
		}{
			"hedge": {resilience.Hedge{}, true}, "*hedge": {&resilience.Hedge{}, true}, "flight": {flight, true}, "a layer of the user's": {own, true},
			"abandons": {resilience.Timeout{Abandon: true}, true}, "*abandons": {&resilience.Timeout{Abandon: true}, true},
			"retry": {thrice, false}, "*retry": {&retry, false}, "timeout": {timeout, false}, "*timeout": {&timeout, false}, "gate": {places, false},
		} {
			cfg := layers(c.layer)
			cfg.StreamLayers = []resilience.Layer{}
			cl, _ := client(t, cfg)
			for _, reply := range []any{wrapperspb.String("old"), &plain{"old"}} {
				err := send(t.Context(), cl, reply, func(_ context.Context, _ int, got any, _ []grpc.CallOption) error {
					if (got != reply) != c.own {
						t.Errorf("%s: the attempt's reply is its own: %t, want %t", name, got != reply, c.own)
					}
					switch got := got.(type) {
					case *text:
						got.Value = "new"
					case *plain:
						got.V = "new"
					}
					return nil
				})
				if m, is := reply.(*text); err != nil || is && m.Value != "new" || !is && reply.(*plain).V != "new" {
					t.Errorf("%s: got %v, %v", name, reply, err)
				}
			}
			if err := cl.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// A reply that a layer of the user's answers with has to be one, whatever the codec; what the caller's held before is gone.
func TestLayersAnswerWithReplies(t *testing.T) {
	answers := func(reply, answer any) error {
		c, _ := client(t, layers(resilience.FallbackTo(func(context.Context, any, error) (any, error) { return answer, nil })))
		return send(t.Context(), c, reply, func(context.Context, int, any, []grpc.CallOption) error { return errDown })
	}
	for _, answer := range []any{nil, 7, plain{"x"}, (*plain)(nil), new(text), &struct{ V string }{"x"}} {
		reply := &plain{"old"}
		if err := answers(reply, answer); err == nil || reply.V != "old" {
			t.Errorf("%T: got %v, %v", answer, reply, err)
		}
	}
	value := 1
	if err := answers(value, 7); err == nil {
		t.Error("a value is no place for a reply")
	}
	if reply := (&plain{"old"}); answers(reply, &plain{"new"}) != nil || reply.V != "new" {
		t.Errorf("got %v", reply)
	}
	if reply := wrapperspb.String("old"); answers(reply, new(text)) != nil || reply.Value != "" {
		t.Errorf("got %v", reply)
	}
}
