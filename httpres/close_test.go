package httpres_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// The body is closed whatever happens: http.RoundTripper demands it.
func TestBodyIsClosedOnEveryPath(t *testing.T) {
	open := resilience.MustBreaker(resilience.BreakerConfig{Name: "open", Bus: events.NewBus()})
	open.ForceOpen()
	full := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "full", MaxConcurrent: 1, Bus: events.NewBus()})
	lease, err := full.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release(nil)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	s := serve(t, answers(200))
	closed := transport(t, nil)
	if err := closed.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	panics := func(*http.Request) bool { panic("no idea") }

	for name, c := range map[string]struct {
		rt     http.RoundTripper
		change func(*http.Request)
	}{
		"success":               {rt: transport(t, s.base(), thrice)},
		"open breaker":          {rt: transport(t, nil, thrice, open)},
		"full bulkhead":         {rt: transport(t, nil, full, thrice)},
		"closed transport":      {rt: closed},
		"transport not made":    {rt: new(httpres.Transport)},
		"canceled":              {rt: transport(t, nil, thrice), change: func(r *http.Request) { *r = *r.WithContext(canceled) }},
		"nobody listens":        {rt: transport(t, nil, thrice), change: func(r *http.Request) { r.URL.Host = "127.0.0.1:1" }},
		"no URL":                {rt: transport(t, nil, thrice), change: func(r *http.Request) { r.URL = nil }},
		"no header":             {rt: transport(t, nil, thrice), change: func(r *http.Request) { r.Header = nil }},
		"unknown scheme":        {rt: transport(t, nil, thrice), change: func(r *http.Request) { r.URL.Scheme = "gopher" }},
		"Idempotent panics":     {rt: configured(t, nil, httpres.Config{Idempotent: panics})},
		"base panics":           {rt: transport(t, roundTripper(func(*http.Request) (*http.Response, error) { panic("base") }), thrice)},
		"layer answers instead": {rt: transport(t, nil, instead{})},
		"base returns nothing":  {rt: transport(t, roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil }), thrice)},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, body := range map[string]*stream{"GetBody": {Reader: strings.NewReader("x")}, "stream": {Reader: strings.NewReader("x")}} {
				req := request(t, "PUT", s.URL, body)
				if kind == "GetBody" {
					req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }
				}
				if c.change != nil {
					c.change(req)
				}
				func() {
					defer func() { recover() }()
					if resp, err := c.rt.RoundTrip(req); err == nil {
						resp.Body.Close()
					} else if resp != nil {
						t.Errorf("%s: a response and %v", kind, err)
					}
				}()
				if misbehaves := name == "base panics" || name == "base returns nothing"; misbehaves && kind == "GetBody" {
					continue // it was handed over
				}
				if body.closed.Load() == 0 {
					t.Errorf("%s: the body was not closed", kind)
				}
			}
		})
	}
}

// The body is closed although the base forgets to: when the call has failed, or its response is closed.
func TestBodyIsClosedForABaseThatForgets(t *testing.T) {
	for name, resp := range map[string]*http.Response{
		"error": nil, "response": {StatusCode: 503, Body: io.NopCloser(strings.NewReader("busy"))},
	} {
		base := roundTripper(func(*http.Request) (*http.Response, error) {
			if resp == nil {
				return nil, io.EOF
			}
			again := *resp
			return &again, nil
		})
		body := &stream{Reader: strings.NewReader("x")}
		got, err := transport(t, base, thrice).RoundTrip(request(t, "PUT", "http://x/", body))
		if err == nil {
			got.Body.Close()
		}
		if n := body.closed.Load(); n != 1 {
			t.Errorf("%s: the body was closed %d times", name, n)
		}
	}
}

// instead answers without asking what is inside.
type instead struct{}

func (instead) LayerInfo() resilience.LayerInfo { return resilience.LayerInfo{Name: "instead"} }

func (instead) Wrap(resilience.Next[*http.Response]) resilience.Next[*http.Response] {
	return func(context.Context, resilience.Call, resilience.Operation[*http.Response]) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(nil))}, nil
	}
}
