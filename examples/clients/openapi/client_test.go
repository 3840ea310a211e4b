package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/examples/clients/openapi/orders"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

func started(t *testing.T, handler http.Handler, layers ...resilience.Layer) (*orders.ClientWithResponses, *resiliencetest.Recorder) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	bus := events.NewBus()
	client, err := newClient(server.URL, httpres.Config{Name: "orders", Layers: layers, Bus: bus})
	if err != nil {
		t.Fatal(err)
	}
	return client, resiliencetest.Record(bus)
}

func TestAnOrderWithAKeyIsSentAgainAndMadeOnce(t *testing.T) {
	service := newService()
	client, _ := started(t, service.handler(), resilience.Retry{Backoff: resilience.NoDelay})
	service.will(2, http.StatusBadGateway)
	order, err := place(t.Context(), client, "cart-7", "chair")
	if err != nil || *order != (orders.Order{Id: 1, Item: "chair"}) {
		t.Errorf("got %v %v", order, err)
	}
	if want := slices.Repeat([]string{"POST /orders cart-7"}, 3); !slices.Equal(service.requests(), want) {
		t.Errorf("the service got %q, want %q", service.requests(), want)
	}
	if len(service.orders) != 1 {
		t.Errorf("%d orders were made, want 1", len(service.orders))
	}
}

func TestAnOrderWithoutAKeyIsSentOnce(t *testing.T) {
	service := newService()
	client, _ := started(t, service.handler(), resilience.Retry{Backoff: resilience.NoDelay})
	service.will(1, http.StatusBadGateway)
	response, err := client.PlaceOrderWithResponse(t.Context(), nil, orders.NewOrder{Item: "chair"})
	if err != nil || response.StatusCode() != http.StatusBadGateway {
		t.Errorf("got %v %v, want the response with 502", response, err)
	}
	if n := len(service.requests()); n != 1 {
		t.Errorf("the service got %d requests, want 1", n)
	}
}

func TestWhatIsFoundOutAboutAnOrderSaysItsKind(t *testing.T) {
	for name, want := range map[string]struct {
		fails, status int
		kind          resilience.Kind
		requests      int
	}{
		"fine":       {0, 0, resilience.KindOK, 1},
		"a restart":  {1, http.StatusServiceUnavailable, resilience.KindOK, 2},
		"down":       {9, http.StatusServiceUnavailable, resilience.KindUnavailable, 3},
		"overloaded": {9, http.StatusTooManyRequests, resilience.KindUnavailable, 3},
		"forbidden":  {9, http.StatusForbidden, resilience.KindUnhandled, 1},
	} {
		service := newService()
		service.orders = []orders.Order{{Id: 1, Item: "chair"}}
		client, _ := started(t, service.handler(), resilience.Retry{Backoff: resilience.NoDelay})
		service.will(want.fails, want.status)
		order, err := find(t.Context(), client, 1)
		if resilience.KindOf(err) != want.kind || (err == nil) != (order != nil && order.Item == "chair") {
			t.Errorf("%s: got %v %v of the kind %v, want %v", name, order, err, resilience.KindOf(err), want.kind)
		}
		if n := len(service.requests()); n != want.requests {
			t.Errorf("%s: the service got %d requests, want %d", name, n, want.requests)
		}
	}
}

func TestRefusalsAreFoundThroughTheGeneratedClient(t *testing.T) {
	service := newService()
	breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "orders", Bus: events.Off()})
	client, _ := started(t, service.handler(), breaker)
	breaker.ForceOpen()
	_, err := place(t.Context(), client, "cart-7", "chair")
	if !errors.Is(err, resilience.ErrBreakerOpen) || resilience.KindOf(err) != resilience.KindUnavailable {
		t.Errorf("got %v of the kind %v", err, resilience.KindOf(err))
	}
	if len(service.orders) != 0 {
		t.Error("the order was placed all the same")
	}
}

func TestACallerWhoLeavesIsNotTakenForAFailure(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	hangs := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leave(); <-r.Context().Done() })
	client, told := started(t, hangs, resilience.Retry{}, resilience.Timeout{})
	if _, err := find(ctx, client, 1); resilience.KindOf(err) != resilience.KindCanceled {
		t.Errorf("got %v of the kind %v", err, resilience.KindOf(err))
	}
	resiliencetest.WantNone[events.RetryScheduled](t, told)
}

func TestTheExampleTellsWhatHappens(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<nil> (ok), after ["POST /orders cart-7" "POST /orders cart-7"]`, `<nil> (ok), after ["GET /orders/1" "GET /orders/1"]`,
		`orders: unexpected status 404 (unhandled), after ["GET /orders/2"]`, `orders: unexpected status 503 (unavailable)`, "1 order was made",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not say %q:\n%s", want, out.String())
		}
	}
}
