package main

import (
	"io"
	"net"
	"net/http"
	"strings"
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
		"every line. " + whoGets,
	contestants: getters(serveHTTP, func() http.RoundTripper {
		return &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute}
	}),
}

var getsAtOnce = workload{
	name: "HTTP, a GET that is answered at once",
	doc: "The same without a network: what net/http's transport would do is to look at the request's context, and to answer. What is left is what the client, " +
		"and what stands around the transport, take themselves.",
	contestants: getters(func() string { return "http://localhost/" }, func() http.RoundTripper { return answering{} }),
}

const whoGets = "Telltale is httpres.Standard: bulkhead, total timeout, retry, a breaker for each host, timeout of the attempt; failsafehttp " +
	"has the same five, one breaker for all; go-retryablehttp only retries."

// getters are those that get the greeting with a transport around the base.
func getters(url func() string, base func() http.RoundTripper) []contestant {
	getter := func(name string, r role, timeout time.Duration, around func(base http.RoundTripper) http.RoundTripper) contestant {
		return contestant{name, r, func() worker { return getting(url(), &http.Client{Timeout: timeout, Transport: around(base())}) }}
	}
	bare := func(base http.RoundTripper) http.RoundTripper { return base }
	return []contestant{
		getter("bare http.Client", floor, 0, bare),
		getter("bare http.Client with a Timeout", peer, httpres.StandardTotalTimeout, bare),
		getter("Telltale", ours, 0, func(base http.RoundTripper) http.RoundTripper { return standard(base, events.NewBus()) }),
		getter("Telltale, spans and metrics", ours, 0, func(base http.RoundTripper) http.RoundTripper { return standard(base, observed()) }),
		getter("failsafehttp", peer, 0, func(base http.RoundTripper) http.RoundTripper {
			return failsafehttp.NewRoundTripper(base,
				failsafe.Policy[*http.Response](fbulkhead.New[*http.Response](httpres.StandardMaxConcurrent)),
				ftimeout.New[*http.Response](httpres.StandardTotalTimeout),
				failsafehttp.NewRetryPolicyBuilder().WithMaxAttempts(httpres.StandardMaxAttempts).Build(),
				circuitbreaker.NewBuilder[*http.Response]().
					WithFailureRateThreshold(httpres.StandardFailureRatio, httpres.StandardMinCalls, httpres.StandardWindow).Build(),
				ftimeout.New[*http.Response](httpres.StandardAttemptTimeout))
		}),
		getter("go-retryablehttp", peer, 0, func(base http.RoundTripper) http.RoundTripper {
			c := retryablehttp.NewClient()
			c.HTTPClient = &http.Client{Transport: base}
			c.RetryMax, c.Logger = httpres.StandardMaxAttempts-1, nil
			return &retryablehttp.RoundTripper{Client: c}
		}),
	}
}

// answering is a base that answers at once.
type answering struct{}

func (answering) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-req.Context().Done():
		return nil, req.Context().Err()
	default:
	}
	return &http.Response{StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: req,
		ContentLength: int64(len(greeting)), Body: io.NopCloser(strings.NewReader(greeting))}, nil
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

// getting gets the greeting.
func getting(url string, client *http.Client) worker {
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
}
