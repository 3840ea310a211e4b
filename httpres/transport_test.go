package httpres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-09, PIPE-25
func TestTransportRefusesWhatCannotWork(t *testing.T) {
	var none *http.Transport
	for name, c := range map[string]struct {
		base http.RoundTripper
		cfg  httpres.Config
		want string
	}{
		"no name":       {nil, httpres.Config{}, `httpres.Config.Name = ""`},
		"success":       {nil, httpres.Config{Name: "x", FailureStatuses: []int{503, 200}}, "httpres.Config.FailureStatuses = 200: must be from 400 to 599"},
		"no status":     {nil, httpres.Config{Name: "x", FailureStatuses: []int{600}}, "FailureStatuses = 600"},
		"typed nil":     {none, httpres.Config{Name: "x"}, "the base is a nil *http.Transport"},
		"invalid layer": {nil, httpres.Config{Name: "x", Layers: []resilience.Layer{resilience.Retry{MaxAttempts: -5}}}, "Retry.MaxAttempts = -5"},
		"nil layer":     {nil, httpres.Config{Name: "x", Layers: []resilience.Layer{(*resilience.Retry)(nil)}}, "nil"},
	} {
		t.Run(name, func(t *testing.T) {
			c.cfg.Bus = events.NewBus()
			tr, err := httpres.NewTransport(c.base, c.cfg)
			if tr != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v, want %q", tr, err, c.want)
			}
			if n := len(c.cfg.Bus.Sources()); n != 0 {
				t.Errorf("%d sources of a transport that was not made", n)
			}
			defer func() {
				if p := recover(); fmt.Sprint(p) != err.Error() {
					t.Errorf("MustTransport panics with %v", p)
				}
			}()
			httpres.MustTransport(c.base, c.cfg)
		})
	}
}

// PIPE-08
func TestChangingTheConfigurationChangesNothing(t *testing.T) {
	s := serve(t, answers(503))
	retry := &resilience.Retry{Backoff: resilience.NoDelay}
	cfg := httpres.Config{Layers: []resilience.Layer{retry}, FailureStatuses: []int{503}}
	tr := configured(t, s.base(), cfg)
	retry.MaxAttempts, cfg.Layers[0], cfg.FailureStatuses[0] = 1, resilience.Timeout{}, 500
	send(t, tr, request(t, "GET", s.URL, nil))
	if n := s.requests.Load(); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

// PIPE-18: what the transport adds to a Retry does not show.
func TestDescribeTellsTheLayers(t *testing.T) {
	layers := []resilience.Layer{resilience.Timeout{Name: "total", After: time.Second}, thrice}
	want := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "test", Layers: layers, Bus: events.NewBus()}).Describe()
	tr := transport(t, nil, layers...)
	if got := tr.Describe(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := new(httpres.Transport).Describe(); got.Name != "" {
		t.Errorf("a transport that was not made describes itself as %+v", got)
	}
}

// RET-21
func TestOnRetryIsStillAsked(t *testing.T) {
	s := serve(t, answers(503))
	var seen []int
	tr := transport(t, s.base(), resilience.Retry{Backoff: resilience.NoDelay, OnRetry: func(_ context.Context, f resilience.FailedAttempt) bool {
		seen = append(seen, f.Value.(*http.Response).StatusCode)
		return len(seen) < 2
	}})
	if status, _ := send(t, tr, request(t, "GET", s.URL, nil)); status != 503 || fmt.Sprint(seen) != "[503 503]" || s.requests.Load() != 2 {
		t.Errorf("status %d, OnRetry saw %v, %d requests", status, seen, s.requests.Load())
	}
}

// PIPE-17
func TestClosedTransportRefusesAndLetsRunningRequestsEnd(t *testing.T) {
	s := serve(t, answers(200))
	bus := events.NewBus()
	tr := configured(t, s.base(), httpres.Config{Bus: bus, Layers: []resilience.Layer{resilience.Timeout{}, thrice}})
	resp, err := tr.RoundTrip(request(t, "GET", s.URL, nil))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := tr.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(bus.Sources()) != 0 {
		t.Error("the transport is still on its bus")
	}
	if _, err := tr.RoundTrip(request(t, "GET", s.URL, nil)); !errors.Is(err, resilience.ErrClosed) {
		t.Errorf("a request got %v", err)
	}
	body := make([]byte, 8)
	if n, _ := resp.Body.Read(body); string(body[:n]) != "the body" {
		t.Errorf("the running request's body is %q", body[:n])
	}
	resp.Body.Close()
	if err := new(httpres.Transport).Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// HTTP-09
func TestIdleConnectionsAreClosed(t *testing.T) {
	s := serve(t, answers(200))
	client := &http.Client{Transport: transport(t, s.base())}
	for range 2 {
		resp, err := client.Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		client.CloseIdleConnections()
	}
	if n := s.connections.Load(); n != 2 {
		t.Errorf("%d connections, want one for each request", n)
	}
	transport(t, answering(200, nil)).CloseIdleConnections() // which has none
}

// PIPE-12, RET-15: the marks for the transport's own Retry end no Retry further out, which makes a new request.
func TestOuterRetryIsNotEndedByTheInnerOne(t *testing.T) {
	for name, base := range map[string]http.RoundTripper{
		"error": roundTripper(func(*http.Request) (*http.Response, error) { return nil, &resilience.TimeoutError{Layer: "dial"} }),
		"attempt timeout": roundTripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, context.Cause(r.Context())
		}),
	} {
		t.Run(name, func(t *testing.T) {
			tr := transport(t, base, resilience.Retry{}, resilience.Timeout{After: time.Millisecond})
			sent := 0
			_, err := resilience.Do(t.Context(), func(ctx context.Context) (*http.Response, error) {
				sent++
				req, err := http.NewRequestWithContext(ctx, "POST", "http://x/", strings.NewReader("x"))
				if err != nil {
					return nil, err
				}
				return tr.RoundTrip(req)
			}, thrice)
			if sent != 3 || !errors.Is(err, resilience.ErrTimeout) {
				t.Errorf("the outer retry made %d requests and got %v", sent, err)
			}
		})
	}
}

// A layer of the user's may answer with a response that is everybody's.
func TestResponseOfALayerIsNotChanged(t *testing.T) {
	places := bulkhead(t, 1)
	for _, body := range []io.ReadCloser{http.NoBody, &stream{Reader: strings.NewReader("")}} {
		shared := &http.Response{StatusCode: 200, Body: body}
		tr := transport(t, nil, places, constantly{shared})
		for range 2 {
			send(t, tr, request(t, "GET", "http://x/", nil))
		}
		if shared.Body != body || used(places) != 0 {
			t.Errorf("the shared response has the body %v, %d places are held", shared.Body, used(places))
		}
	}
	if resp, err := transport(t, nil, places, constantly{}).RoundTrip(request(t, "GET", "http://x/", nil)); resp != nil || err == nil || used(places) != 0 {
		t.Errorf("no response: got %v, %v", resp, err)
	}
}

// constantly answers with one response.
type constantly struct{ resp *http.Response }

func (constantly) LayerInfo() resilience.LayerInfo { return resilience.LayerInfo{Name: "constantly"} }

func (c constantly) Wrap(resilience.Next[*http.Response]) resilience.Next[*http.Response] {
	return func(context.Context, resilience.Call, resilience.Operation[*http.Response]) (*http.Response, error) {
		return c.resp, nil
	}
}
