package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

func started(t *testing.T, handler http.Handler, layers ...resilience.Layer) (*stock, *resiliencetest.Recorder) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	bus := events.NewBus()
	s, err := newStock(server.URL, httpres.Config{Name: "stock", Layers: layers, Bus: bus})
	if err != nil {
		t.Fatal(err)
	}
	return s, resiliencetest.Record(bus)
}

func TestACallIsSentAgainByGETOrWithAKeyOnly(t *testing.T) {
	count := func(s *stock) (int32, error) { return s.Count(t.Context(), "chair") }
	withKey := func(s *stock) (int32, error) { return s.Reserve(t.Context(), "chair", "order-42") }
	without := func(s *stock) (int32, error) { return s.Reserve(t.Context(), "chair", "") }
	const fine connect.Code = 0
	for name, want := range map[string]struct {
		call  func(*stock) (int32, error)
		fails int
		code  connect.Code // of the failures
		got   []string
		n     int32
		err   connect.Code
	}{
		"a question":              {count, 2, connect.CodeUnavailable, []string{"GET", "GET", "GET"}, 10, fine},
		"a question, overloaded":  {count, 1, connect.CodeResourceExhausted, []string{"GET", "GET"}, 10, fine},
		"a question, too late":    {count, 1, connect.CodeDeadlineExceeded, []string{"GET", "GET"}, 10, fine},
		"a question, down":        {count, 9, connect.CodeUnavailable, []string{"GET", "GET", "GET"}, 0, connect.CodeUnavailable},
		"a wrong question":        {count, 1, connect.CodeNotFound, []string{"GET"}, 0, connect.CodeNotFound},
		"a bug":                   {count, 1, connect.CodeInternal, []string{"GET"}, 0, connect.CodeInternal},
		"a change with a key":     {withKey, 1, connect.CodeUnavailable, []string{"POST order-42", "POST order-42"}, 9, fine},
		"a change without a key":  {without, 1, connect.CodeUnavailable, []string{"POST"}, 0, connect.CodeUnavailable},
		"a wrong change":          {withKey, 1, connect.CodeInvalidArgument, []string{"POST order-42"}, 0, connect.CodeInvalidArgument},
		"a change that gets done": {withKey, 0, fine, []string{"POST order-42"}, 9, fine},
	} {
		service := newService()
		s, _ := started(t, service.handler(), resilience.Retry{Backoff: resilience.NoDelay})
		service.will(want.fails, want.code)
		n, err := want.call(s)
		if n != want.n || (err == nil) != (want.err == fine) || err != nil && connect.CodeOf(err) != want.err {
			t.Errorf("%s: got %d, %v, want %d, %v", name, n, err, want.n, want.err)
		}
		if got := service.got(); !slices.Equal(got, want.got) {
			t.Errorf("%s: the service got %q, want %q", name, got, want.got)
		}
	}
}

func TestRefusalsAreFoundThroughConnectsErrors(t *testing.T) {
	service := newService()
	breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "stock", Bus: events.Off()})
	s, _ := started(t, service.handler(), breaker)
	breaker.ForceOpen()
	_, err := s.Count(t.Context(), "chair")
	if !errors.Is(err, resilience.ErrBreakerOpen) || kindOf(err) != resilience.KindUnavailable {
		t.Errorf("got %v of the kind %v, want the breaker's refusal", err, kindOf(err))
	}
	if len(service.got()) != 0 {
		t.Error("the service was asked all the same")
	}
}

func TestAServiceThatHangsIsGivenUp(t *testing.T) {
	hangs := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s, _ := started(t, hangs, resilience.Timeout{After: 100 * time.Millisecond})
	_, err := s.Count(t.Context(), "chair")
	if !errors.Is(err, resilience.ErrTimeout) || connect.CodeOf(err) != connect.CodeDeadlineExceeded {
		t.Errorf("got %v, code %v, want a timeout", err, connect.CodeOf(err))
	}
}

func TestACallerWhoLeavesIsNotTakenForAFailure(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	hangs := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leave(); <-r.Context().Done() })
	s, told := started(t, hangs, resilience.Retry{}, resilience.MustBreaker(resilience.BreakerConfig{Name: "stock", ConsecutiveFailures: 1, Bus: events.Off()}), resilience.Timeout{})
	_, err := s.Count(ctx, "chair")
	if connect.CodeOf(err) != connect.CodeCanceled || kindOf(err) != resilience.KindCanceled {
		t.Errorf("got %v of the kind %v", err, kindOf(err))
	}
	resiliencetest.WantNone[events.RetryScheduled](t, told)
	resiliencetest.WantNone[events.BreakerStateChanged](t, told)
}

func TestACodeSaysTheKind(t *testing.T) {
	for code, want := range map[connect.Code]resilience.Kind{
		connect.CodeCanceled: resilience.KindCanceled, connect.CodeResourceExhausted: resilience.KindLimited,
		connect.CodeUnavailable: resilience.KindUnavailable, connect.CodeDeadlineExceeded: resilience.KindUnavailable,
		connect.CodeInternal: resilience.KindUnhandled, connect.CodeNotFound: resilience.KindUnhandled,
	} {
		service := newService()
		s, _ := started(t, service.handler())
		service.will(1, code)
		if _, err := s.Count(t.Context(), "chair"); kindOf(err) != want {
			t.Errorf("%v is of the kind %v, want %v", code, kindOf(err), want)
		}
		if _, err := s.Count(t.Context(), "chair"); kindOf(err) != resilience.KindOK {
			t.Errorf("a success is of the kind %v", kindOf(err))
		}
	}
}

func TestTheExampleTellsWhatHappens(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`-> 10 chairs, <nil> (ok), after ["GET" "GET"]`, `-> 9 chairs, <nil> (ok), after ["POST order-42" "POST order-42"]`,
		`-> 0 chairs, unavailable: not now (unavailable), after ["POST"]`, `-> 0 chairs, not_found: not now (unhandled), after ["GET"]`, "resilience.reason=not_retryable",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not say %q:\n%s", want, out.String())
		}
	}
}
