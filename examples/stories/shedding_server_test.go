package stories_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// A shop between its customers and a price service of two replicas. The shop's server takes in as many requests as it can
// serve, customers before crawlers, and tells the rest to come back. Its client asks the second replica when the first is
// slow or down, numbers its attempts, and tells how long it will wait; the price service reads that.
func Test_shopThatShedsAndHedges(t *testing.T) {
	bus := events.NewBus()
	inner := httpres.MustMiddleware(httpres.MiddlewareConfig{Name: "prices", Bus: bus, Timeout: httpres.TimeoutFrom("Grpc-Timeout")})
	var mu sync.Mutex
	var seen []string
	replica := func(name string, status int) *url.URL {
		server := httptest.NewServer(inner.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, limited := r.Context().Deadline()
			mu.Lock()
			seen = append(seen, fmt.Sprint(name, " ", r.Header.Get("X-Attempt"), " ", limited))
			mu.Unlock()
			w.WriteHeader(status)
		})))
		t.Cleanup(server.Close)
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	cfg := httpres.StandardHedging("prices-client", replica("a", http.StatusBadGateway), replica("b", http.StatusOK))
	cfg.Bus, cfg.AttemptHeader, cfg.TimeoutHeader = bus, "X-Attempt", "Grpc-Timeout"
	transport := httpres.MustTransport(&http.Transport{}, cfg)
	defer transport.CloseIdleConnections()
	prices := &http.Client{Transport: transport}

	room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "shop-room", MaxConcurrent: 1, MaxQueue: 1, Bus: bus})
	outer := httpres.MustMiddleware(httpres.MiddlewareConfig{Name: "shop", Bus: bus, Layers: []resilience.Layer{room}, Priority: httpres.PriorityFrom("X-Priority")})
	shop := httptest.NewServer(outer.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://prices.internal/tea", nil)
		if err != nil {
			t.Error(err)
			return
		}
		resp, err := prices.Do(req)
		if err != nil {
			w.WriteHeader(resilience.KindOf(err).HTTPStatus())
			return
		}
		_ = resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
	})))
	defer shop.Close()

	visit := func(priority string) (int, string) {
		req, err := http.NewRequest(http.MethodGet, shop.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Priority", priority)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Retry-After")
	}
	if status, _ := visit("normal"); status != http.StatusOK || fmt.Sprint(seen) != "[a 1 true b 2 true]" {
		t.Errorf("status %d, the replicas saw %v", status, seen)
	}
	lease, err := room.Acquire(context.Background()) // the shop has enough to do
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan int)
	go func() { status, _ := visit("critical"); waits <- status }()
	for room.Snapshot().Queued == 0 {
		select {
		case status := <-waits:
			t.Fatalf("the customer was turned away: %d", status)
		default:
		}
	}
	if status, after := visit("low"); status != http.StatusServiceUnavailable || after != "1" {
		t.Errorf("the crawler got %d, and is to come back in %q", status, after)
	}
	lease.Release(nil)
	if status := <-waits; status != http.StatusOK {
		t.Errorf("the customer got %d", status)
	}
}
