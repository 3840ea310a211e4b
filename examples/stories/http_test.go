package stories_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// A partner's API answers 503 while it deploys. The client is an http.Client as before; its transport sends again what
// may be sent again: a PUT, and a POST whose Idempotency-Key tells the partner that it is the same order. A POST
// without one is sent once, and its 503 is a response like any other.
func Example_httpClient() {
	deploying := 0
	partner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		fmt.Printf("%s %q\n", r.Method, sent)
		if deploying > 0 {
			deploying--
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer partner.Close()

	transport := httpres.MustTransport(nil, httpres.Config{
		Name: "partner",
		Layers: []resilience.Layer{
			resilience.Retry{Backoff: resilience.NoDelay},
			resilience.MustBreaker(resilience.BreakerConfig{Name: "partner"}),
			resilience.Timeout{},
		},
	})
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}

	send := func(method, key string) {
		deploying = 1
		request, err := http.NewRequest(method, partner.URL, strings.NewReader("2 chairs"))
		if err != nil {
			fmt.Println(err)
			return
		}
		if key != "" {
			request.Header.Set("Idempotency-Key", key)
		}
		response, err := client.Do(request)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer response.Body.Close()
		fmt.Println("->", response.StatusCode)
	}
	send("PUT", "")
	send("POST", "order-42")
	send("POST", "")
	// Output:
	// PUT "2 chairs"
	// PUT "2 chairs"
	// -> 200
	// POST "2 chairs"
	// POST "2 chairs"
	// -> 200
	// POST "2 chairs"
	// -> 503
}

// The partner is down for good: its breaker opens, and from then on nothing is sent. An http.Client wraps what its
// transport returns; the kind is found through it, for the answer to one's own caller.
func Example_httpBreaker() {
	partner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer partner.Close()
	transport := httpres.MustTransport(nil, httpres.Config{
		Name: "shipping",
		Layers: []resilience.Layer{
			resilience.MustBreaker(resilience.BreakerConfig{Name: "shipping", ConsecutiveFailures: 2}),
			resilience.Timeout{},
		},
	})
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}

	for range 3 {
		response, err := client.Get(partner.URL)
		if err != nil {
			fmt.Println("answer with", resilience.KindOf(err).HTTPStatus())
			continue
		}
		fmt.Println(response.StatusCode)
		_ = response.Body.Close()
	}
	// Output:
	// 502
	// 502
	// answer with 503
}
