package httpres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

func through(t *testing.T, p *resilience.Pipeline[*http.Response], method, url string, body io.Reader) *http.Request {
	t.Helper()
	return request(t, method, url, body).WithContext(httpres.WithPipeline(t.Context(), p))
}

// PIPE-22: the endpoint's default, the caller's own, or none.
func TestOneRequestGoesThroughAnotherPipeline(t *testing.T) {
	s := serve(t, answers(503))
	own := httpres.MustPipeline(httpres.Config{Name: "own", Bus: events.NewBus(), Layers: []resilience.Layer{
		resilience.Retry{MaxAttempts: 5, Backoff: resilience.NoDelay}}})
	tr := transport(t, s.base(), thrice)
	for _, c := range []struct {
		name string
		p    *resilience.Pipeline[*http.Response]
		want int32
	}{
		{"the transport's", nil, 3}, {"the caller's", own, 5}, {"none", resilience.PassThrough[*http.Response](), 1},
	} {
		s.requests.Store(0)
		status, body := send(t, tr, through(t, c.p, "PUT", s.URL, io.MultiReader(strings.NewReader("a stream"))))
		if n := s.requests.Load(); status != 503 || body != "the body" || n != c.want {
			t.Errorf("%s: status %d, body %q, %d requests, want %d", c.name, status, body, n, c.want)
		}
		s.requests.Store(0)
		if status, _ := send(t, tr, through(t, c.p, "POST", s.URL, strings.NewReader("x"))); status != 503 || s.requests.Load() != 1 {
			t.Errorf("%s: a POST was sent %d times, status %d", c.name, s.requests.Load(), status)
		}
	}
	if err := own.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.RoundTrip(through(t, own, "GET", s.URL, nil)); !errors.Is(err, resilience.ErrClosed) {
		t.Errorf("a closed one: %v", err)
	}
}

// PIPE-22: which statuses fail is the pipeline's matter, which requests may be repeated the transport's.
func TestGivenPipelineJudgesByItsOwnStatuses(t *testing.T) {
	s := serve(t, answers(418))
	own := httpres.MustPipeline(httpres.Config{Name: "own", Bus: events.NewBus(), FailureStatuses: []int{418}, Layers: []resilience.Layer{thrice}})
	tr := configured(t, s.base(), httpres.Config{Layers: []resilience.Layer{thrice}, Idempotent: func(*http.Request) bool { return true }})
	send(t, tr, request(t, "POST", s.URL, strings.NewReader("x")))
	if n := s.requests.Swap(0); n != 1 {
		t.Errorf("the transport's own pipeline sent it %d times", n)
	}
	send(t, tr, through(t, own, "POST", s.URL, strings.NewReader("x")))
	if n := s.requests.Load(); n != 3 {
		t.Errorf("the caller's sent it %d times", n)
	}
	if v, err := own.Do(t.Context(), func(context.Context) (*http.Response, error) {
		return &http.Response{StatusCode: 418, Body: io.NopCloser(strings.NewReader("x"))}, nil
	}); err != nil || v.StatusCode != 418 {
		t.Errorf("used by itself: %v, %v", v, err)
	}
}

// PIPE-22, HTTP-06: the body is read under the given pipeline's total limit; one that does not hold it is found out.
func TestBodyThroughAGivenPipeline(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		io.WriteString(w, strings.Repeat("x", 100_000))
	})
	tr := transport(t, s.base())
	layers := []resilience.Layer{resilience.Timeout{After: time.Minute}, thrice, resilience.Timeout{}}
	own := httpres.MustPipeline(httpres.Config{Name: "own", Bus: events.NewBus(), Layers: layers})
	if _, body := send(t, tr, through(t, own, "GET", s.URL, nil)); len(body) != 100_000 {
		t.Errorf("the body has %d bytes", len(body))
	}
	bare := resilience.MustPipeline(resilience.PipelineConfig[*http.Response]{Name: "bare", Bus: events.NewBus(), Layers: layers})
	if resp, err := tr.RoundTrip(through(t, bare, "GET", s.URL, nil)); resp != nil || err == nil || !strings.Contains(err.Error(), "make it with httpres.NewPipeline") {
		t.Errorf("without Hold: %v, %v", resp, err)
	}
	if n := s.connections.Load(); n > 2 {
		t.Errorf("%d connections", n)
	}
}

// PIPE-22: a transport that is the base of another keeps its own.
func TestGivenPipelineIsForTheOutermostTransport(t *testing.T) {
	s := serve(t, answers(503))
	inner := transport(t, s.base(), resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay})
	outer := transport(t, inner)
	own := httpres.MustPipeline(httpres.Config{Name: "own", Bus: events.NewBus(), Layers: []resilience.Layer{thrice}})
	send(t, outer, through(t, own, "GET", s.URL, nil))
	if n := s.requests.Load(); n != 3*2 {
		t.Errorf("%d requests, want those of the inner transport's two for each of the given pipeline's three", n)
	}
}

// PIPE-24: their attempts multiply, and that is told.
func TestNestedTransportsAreWarnedOf(t *testing.T) {
	s := serve(t, answers(503))
	bus := events.NewBus()
	var told []string
	bus.ConfigWarning.Subscribe(func(_ context.Context, w events.ConfigWarning) {
		told = append(told, w.Code+" "+w.Source.Pipeline())
	})
	inner := configured(t, s.base(), httpres.Config{Name: "inner", Bus: bus, Layers: []resilience.Layer{thrice}})
	outer := configured(t, inner, httpres.Config{Name: "outer", Bus: bus, Layers: []resilience.Layer{thrice}})
	client := &http.Client{Transport: outer}
	for range 2 {
		resp, err := client.Do(request(t, "GET", s.URL, nil))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if n := s.requests.Load(); n != 2*9 || fmt.Sprint(told) != "[nested_retry inner]" {
		t.Errorf("%d requests, told %q", n, told)
	}
}
