package httpres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
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

// The preset for calling a service: a bulkhead, two limits of time, a retry, and a breaker for each host.
func ExampleStandard() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "paid") }))
	defer server.Close()

	transport := httpres.MustTransport(nil, httpres.Standard("invoices"))
	client := &http.Client{Transport: transport}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(resilience.KindOf(err), err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	d := transport.Describe()
	for _, l := range d.Layers {
		fmt.Println(l.Name, l.Settings[0])
	}
	fmt.Println("attempts at worst:", d.AttemptsAtWorst, "warnings:", len(d.Warnings))
	// Output:
	// 200 OK
	// invoices-bulkhead {max_concurrent 1000}
	// total {after 30s}
	// retry {max_attempts 3}
	// invoices-hosts {failure_ratio 0.1}
	// attempt {after 9s}
	// attempts at worst: 3 warnings: 0
}

// Two replicas: when the first has not answered after 20 ms, the second is asked, too.
func ExampleRoute() {
	replica := func(name string, takes time.Duration) (*httptest.Server, *url.URL) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(takes):
			case <-r.Context().Done():
			}
			fmt.Fprint(w, name)
		}))
		u, _ := url.Parse(server.URL)
		return server, u
	}
	first, here := replica("the first", time.Minute)
	defer first.Close()
	second, there := replica("the second", 0)
	defer second.Close()
	client := &http.Client{Transport: httpres.MustTransport(nil, httpres.Config{
		Name: "replicas",
		Layers: []resilience.Layer{
			resilience.Timeout{After: 5 * time.Second},
			resilience.Hedge{Delay: 20 * time.Millisecond},
			httpres.Route{To: httpres.Endpoints(here, there)},
			httpres.MustBreakerPerHost(resilience.BreakerConfig{Name: "replicas"}),
		},
	})}
	resp, err := client.Get("http://replicas.test/")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(string(body), "answers")
	// Output: the second answers
}

// A caller that shows a page and would rather say so than wait has its one request sent once.
func ExampleWithPipeline() {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	client := &http.Client{Transport: httpres.MustTransport(nil, httpres.Config{
		Name:   "catalogue",
		Layers: []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay}},
	})}

	get := func(ctx context.Context) {
		requests = 0
		req, _ := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
		resp, err := client.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Println(resp.StatusCode, "after", requests)
	}
	get(context.Background())
	get(httpres.WithPipeline(context.Background(), resilience.PassThrough[*http.Response]()))
	get(httpres.WithPipeline(context.Background(), httpres.MustPipeline(httpres.Config{
		Name:   "patient",
		Layers: []resilience.Layer{resilience.Retry{MaxAttempts: 5, Backoff: resilience.NoDelay}},
	})))
	// Output:
	// 503 after 3
	// 503 after 1
	// 503 after 5
}

// A server that serves one request at a time, and says so to the next.
func ExampleMiddleware() {
	api := httpres.MustMiddleware(httpres.MiddlewareConfig{
		Name: "api",
		Layers: []resilience.Layer{
			resilience.MustBulkhead(resilience.BulkheadConfig{Name: "api-requests", MaxConcurrent: 1}),
		},
		Priority: httpres.PriorityFrom("X-Priority"),
		Timeout:  httpres.TimeoutFrom("Grpc-Timeout"),
	})
	var server *httptest.Server
	server = httptest.NewServer(api.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resp, err := http.Get(server.URL) // while this one is served
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		fmt.Println(resp.Status, "- come back in", resp.Header.Get("Retry-After"))
		fmt.Println(string(body))
	})))
	defer server.Close()
	resp, err := http.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output:
	// 503 Service Unavailable - come back in 1
	// {"type":"about:blank","title":"Service Unavailable","status":503,"detail":"The server cannot serve the request at present. Try again later."}
	// 200 OK
}
