package otelres_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/httpres"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/metric/noop"
)

// HTTP-05, HTTP-08: one line in the place of a client's transport, and the trace tells of each attempt, with the client span of
// what it sent inside, of the wait that the server asked for, and of the host's breaker.
func TestOneLineShowsAttemptsBreakersAndRetryAfterInTheTrace(t *testing.T) {
	r := newRig(t)
	answered := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if answered++; answered == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	cfg := httpres.Standard("web")
	cfg.Bus = r.bus
	sent := otelhttp.NewTransport(http.DefaultTransport, otelhttp.WithTracerProvider(r.tracers), otelhttp.WithMeterProvider(noop.NewMeterProvider()))
	client := &http.Client{Transport: httpres.MustTransport(sent, cfg)} // the line
	resp, err := client.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	parents, hinted := map[string]int{}, false
	ids := map[string]string{}
	for _, span := range r.spans.Ended() {
		ids[span.SpanContext().SpanID().String()] = span.Name()
	}
	for _, span := range r.spans.Ended() {
		parents[span.Name()+" in "+ids[span.Parent().SpanID().String()]]++
		for _, e := range span.Events() {
			text := strings.Builder{}
			for _, a := range e.Attributes {
				text.WriteString(string(a.Key) + "=" + a.Value.Emit() + " ")
			}
			hinted = hinted || e.Name == "resilience.retry.scheduled" && strings.Contains(text.String(), "resilience.retry.hinted=true") &&
				strings.Contains(text.String(), "resilience.retry.delay_s=1 ")
		}
	}
	if parents["web in "] != 1 || parents["web attempt in web"] != 2 || parents["HTTP GET in web attempt"] != 2 {
		t.Errorf("the spans are %v", parents)
	}
	if !hinted {
		t.Error("no span event tells of the wait that the server asked for")
	}
	if n := r.value("resilience.circuit_breaker.state", "resilience.layer.name", "web-hosts", "resilience.circuit_breaker.state", "closed"); n < 1 {
		t.Errorf("%v closed breakers of hosts are told of", n)
	}
}
