package httpres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

func Example() {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "paid")
	}))
	defer server.Close()

	payments := resilience.MustBreaker(resilience.BreakerConfig{Name: "payments"})
	client := &http.Client{Transport: httpres.MustTransport(nil, httpres.Config{
		Name: "payments",
		Layers: []resilience.Layer{ // outermost first
			resilience.Timeout{After: 5 * time.Second}, // until the body is closed
			resilience.Retry{Backoff: resilience.Exponential{Base: time.Millisecond}},
			payments,
			resilience.Timeout{After: time.Second}, // until an attempt's headers
		},
	})}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(resilience.KindOf(err), err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Printf("%s, %s after %d requests\n", resp.Status, body, requests)
	// Output: 200 OK, paid after 3 requests
}

// A POST is sent again when it has an Idempotency-Key header, which is the same each time.
func ExampleIsIdempotent() {
	order, _ := http.NewRequest("POST", "http://shop.test/orders", strings.NewReader("tea"))
	fmt.Println(httpres.IsIdempotent(order))
	order.Header.Set("Idempotency-Key", "order-7")
	fmt.Println(httpres.IsIdempotent(order))
	// Output:
	// false
	// true
}

// The last failing response is the caller's, as without the transport; layers and events see a StatusError.
func ExampleStatusError() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()

	bus := events.NewBus()
	bus.RetryStopped.Subscribe(func(_ context.Context, e events.RetryStopped) {
		var status *httpres.StatusError
		if errors.As(e.Err, &status) {
			fmt.Println("stopped:", e.Reason, "-", status, "- come back in", status.RetryAfter())
		}
	})
	client := &http.Client{Transport: httpres.MustTransport(nil, httpres.Config{
		Name:   "quotes",
		Bus:    bus,
		Layers: []resilience.Layer{resilience.Timeout{After: time.Minute}, resilience.Retry{MaxDelay: time.Hour}},
	})}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output:
	// stopped: deadline - httpres: status 429 Too Many Requests - come back in 1h0m0s
	// 429 Too Many Requests
}

// A body that can be read once and is too long to be remembered is sent once.
func ExampleConfig_maxBodyBuffer() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Println("the server got", n, "bytes")
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer server.Close()

	bus := events.NewBus()
	bus.RetryStopped.Subscribe(func(_ context.Context, e events.RetryStopped) { fmt.Println("stopped:", e.Reason) })
	client := &http.Client{Transport: httpres.MustTransport(nil, httpres.Config{
		Name:          "uploads",
		Bus:           bus,
		Layers:        []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay}},
		MaxBodyBuffer: 1000,
	})}
	upload := io.LimitReader(strings.NewReader(strings.Repeat("x", 5000)), 5000) // no GetBody: net/http does not know this reader
	req, _ := http.NewRequest("PUT", server.URL, upload)
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output:
	// the server got 5000 bytes
	// stopped: not_replayable
	// 502 Bad Gateway
}
