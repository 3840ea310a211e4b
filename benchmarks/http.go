package main

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go"
	fbulkhead "github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	ftimeout "github.com/failsafe-go/failsafe-go/timeout"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
)

var gets = workload{
	name: "HTTP, a GET that succeeds", exchange: true,
	doc: "An http.Client over loopback, HTTP/1.1 on a kept connection, the body read to its end. The server runs in the same process: its part is in " +
		"every line. Telltale is httpres.Standard: bulkhead, total timeout, retry, a breaker for each host, timeout of the attempt; failsafehttp " +
		"has the same five, one breaker for all; go-retryablehttp only retries.",
	contestants: []contestant{
		getter("bare http.Client", floor, func(base *http.Transport) http.RoundTripper { return base }),
		getterWithin("bare http.Client with a Timeout", peer, httpres.StandardTotalTimeout, func(base *http.Transport) http.RoundTripper { return base }),
		getter("Telltale", ours, func(base *http.Transport) http.RoundTripper { return standard(base, events.NewBus()) }),
		getter("Telltale, spans and metrics", ours, func(base *http.Transport) http.RoundTripper { return standard(base, observed()) }),
		getter("failsafehttp", peer, func(base *http.Transport) http.RoundTripper {
			return failsafehttp.NewRoundTripper(base,
				failsafe.Policy[*http.Response](fbulkhead.New[*http.Response](httpres.StandardMaxConcurrent)),
				ftimeout.New[*http.Response](httpres.StandardTotalTimeout),
				failsafehttp.NewRetryPolicyBuilder().WithMaxAttempts(httpres.StandardMaxAttempts).Build(),
				circuitbreaker.NewBuilder[*http.Response]().
					WithFailureRateThreshold(httpres.StandardFailureRatio, httpres.StandardMinCalls, httpres.StandardWindow).Build(),
				ftimeout.New[*http.Response](httpres.StandardAttemptTimeout))
		}),
		getter("go-retryablehttp", peer, func(base *http.Transport) http.RoundTripper {
			c := retryablehttp.NewClient()
			c.HTTPClient = &http.Client{Transport: base}
			c.RetryMax, c.Logger = httpres.StandardMaxAttempts-1, nil
			return &retryablehttp.RoundTripper{Client: c}
		}),
	},
}

func standard(base http.RoundTripper, bus *events.Bus) http.RoundTripper {
	cfg := httpres.Standard("benchmark")
	cfg.Bus = bus
	return httpres.MustTransport(base, cfg)
}

const greeting = "hello"

// serveHTTP starts the one server of all.
var serveHTTP = sync.OnceValue(func() (url string) {
	listener := listen()
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, greeting) }))
	return "http://" + listener.Addr().String() + "/"
})

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return listener
}

// getter is a contestant that gets the greeting with a transport around net/http's own.
func getter(name string, r role, around func(base *http.Transport) http.RoundTripper) contestant {
	return getterWithin(name, r, 0, around)
}

// getterWithin is one whose client has a Timeout of its own; 0 is none.
func getterWithin(name string, r role, timeout time.Duration, around func(base *http.Transport) http.RoundTripper) contestant {
	return contestant{name, r, func() worker {
		url := serveHTTP()
		client := &http.Client{Timeout: timeout, Transport: around(&http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute})}
		return func() func() bool {
			buf := make([]byte, len(greeting)+1)
			return func() bool {
				resp, err := client.Get(url)
				if err != nil {
					return false
				}
				n, err := io.ReadFull(resp.Body, buf)
				return resp.Body.Close() == nil && err == io.ErrUnexpectedEOF && string(buf[:n]) == greeting
			}
		}
	}}
}
