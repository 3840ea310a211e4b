package grpcres_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// GRPC-01: refusals have a status, and are still found.
func TestRefusalsHaveAStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{unary: failing(1, errDown)})
		breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: events.NewBus()})
		c, _ := client(t, layers(breaker))
		cc := connect(t, s, c.DialOptions()...)
		call(t.Context(), cc, "x")
		if _, err := call(t.Context(), cc, "x"); !errors.Is(err, resilience.ErrBreakerOpen) || status.Code(err) != codes.Unavailable {
			t.Errorf("got %v", err)
		}
		s.served(t, 1)
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := call(t.Context(), cc, "x"); !errors.Is(err, resilience.ErrClosed) || status.Code(err) != codes.Unavailable {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestFailuresOfTheServerCountForBreakers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for code, want := range map[codes.Code]events.State{
			codes.Unavailable: events.StateOpen, codes.ResourceExhausted: events.StateOpen, codes.DeadlineExceeded: events.StateOpen,
			codes.NotFound: events.StateClosed, codes.InvalidArgument: events.StateClosed, codes.Internal: events.StateClosed, codes.Unknown: events.StateClosed, 99: events.StateClosed,
		} {
			s := serve(t, script{unary: failing(1, status.Error(code, "x"))})
			breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: events.NewBus()})
			c, heard := client(t, layers(breaker))
			if _, err := call(t.Context(), connect(t, s, c.DialOptions()...), "x"); status.Code(err) != code {
				t.Errorf("%v: got %v", code, err)
			}
			if breaker.State() != want {
				t.Errorf("%v: the breaker is %v", code, breaker.State())
			}
			if typ := events.ErrorType(resiliencetest.Of[events.ExecutionFinished](heard)[0].Err); typ != map[codes.Code]string{
				codes.Unavailable: "UNAVAILABLE", codes.ResourceExhausted: "RESOURCE_EXHAUSTED", codes.DeadlineExceeded: "DEADLINE_EXCEEDED",
				codes.NotFound: "NOT_FOUND", codes.InvalidArgument: "INVALID_ARGUMENT", codes.Internal: "INTERNAL", codes.Unknown: "UNKNOWN", 99: "CODE_99"}[code] {
				t.Errorf("%v: the error's type is %q", code, typ)
			}
		}
	})
}
