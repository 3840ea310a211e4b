package httpres_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// HTTP-02
func TestWhatIsSentAgain(t *testing.T) {
	for _, c := range []struct {
		method string
		header http.Header
		want   int // requests
	}{
		{"GET", nil, 3}, {"HEAD", nil, 3}, {"OPTIONS", nil, 3}, {"TRACE", nil, 3}, {"PUT", nil, 3}, {"DELETE", nil, 3}, {"", nil, 3},
		{"POST", nil, 1}, {"PATCH", nil, 1}, {"CONNECT", nil, 1}, {"QUERY", nil, 1},
		{"POST", http.Header{"Idempotency-Key": {"7"}}, 3},
		{"PATCH", http.Header{"Idempotency-Key": {"7"}}, 3},
		{"POST", http.Header{"Idempotency-Key": {}}, 3},
		{"POST", http.Header{"Idempotency-Key": {""}}, 1},
	} {
		t.Run(fmt.Sprint(c.method, c.header), func(t *testing.T) {
			var keys []string
			base := roundTripper(func(req *http.Request) (*http.Response, error) {
				keys = append(keys, req.Header.Get("Idempotency-Key"))
				return &http.Response{StatusCode: 503, Body: io.NopCloser(strings.NewReader("busy"))}, nil
			})
			bus := events.NewBus()
			heard := resiliencetest.Record(bus)
			tr := configured(t, base, httpres.Config{Bus: bus, Layers: []resilience.Layer{thrice}})
			req := request(t, c.method, "http://x/", nil)
			req.Method = c.method
			for k, v := range c.header {
				req.Header[k] = v
			}
			if status, body := send(t, tr, req); status != 503 || body != "busy" { // HTTP-04
				t.Errorf("got %d %q", status, body)
			}
			if len(keys) != c.want {
				t.Errorf("sent %d times, want %d", len(keys), c.want)
			}
			if len(slices.Compact(keys)) != 1 {
				t.Errorf("the key changes: %q", keys)
			}
			want := events.ReasonExhausted
			if c.want == 1 {
				want = events.ReasonNotRetryable
			}
			resiliencetest.Want(t, heard, events.RetryStopped{Reason: want})
		})
	}
}

// HTTP-02: where nothing is ever sent again, no request is to blame for it.
func TestSingleAttemptIsExhausted(t *testing.T) {
	for _, method := range []string{"PUT", "POST"} {
		bus := events.NewBus()
		heard := resiliencetest.Record(bus)
		tr := configured(t, answering(503, http.NoBody), httpres.Config{Bus: bus, Layers: []resilience.Layer{resilience.Retry{MaxAttempts: 1}}})
		send(t, tr, request(t, method, "http://x/", &stream{Reader: strings.NewReader("x")}))
		resiliencetest.Want(t, heard, events.RetryStopped{Reason: events.ReasonExhausted})
	}
}

// HTTP-02
func TestCallerSaysWhatIsIdempotent(t *testing.T) {
	s := serve(t, answers(503, 200))
	tr := configured(t, s.base(), httpres.Config{
		Layers:     []resilience.Layer{thrice},
		Idempotent: func(req *http.Request) bool { return httpres.IsIdempotent(req) || req.URL.Path == "/search" },
	})
	if status, _ := send(t, tr, request(t, "POST", s.URL+"/search", strings.NewReader("q"))); status != 200 {
		t.Errorf("status %d after %d requests", status, s.requests.Load())
	}
}

// HTTP-02
func TestWhichStatusesFail(t *testing.T) {
	for _, c := range []struct {
		failures []int
		status   int
		want     int32 // requests
	}{
		{nil, 408, 3}, {nil, 429, 3}, {nil, 502, 3}, {nil, 503, 3}, {nil, 504, 3},
		{nil, 500, 1}, {nil, 501, 1}, {nil, 404, 1}, {nil, 200, 1}, {nil, 304, 1},
		{append(httpres.DefaultFailureStatuses(), 500), 500, 3},
		{append(httpres.DefaultFailureStatuses(), 500), 503, 3},
		{[]int{}, 503, 1},
	} {
		t.Run(fmt.Sprint(c.failures, c.status), func(t *testing.T) {
			s := serve(t, answers(c.status))
			breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 3, Bus: events.NewBus()})
			tr := configured(t, s.base(), httpres.Config{FailureStatuses: c.failures, Layers: []resilience.Layer{thrice, breaker}})
			if status, _ := send(t, tr, request(t, "GET", s.URL, nil)); status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			if n := s.requests.Load(); n != c.want {
				t.Errorf("%d requests, want %d", n, c.want)
			}
			if opened := breaker.State() == events.StateOpen; opened != (c.want == 3) {
				t.Errorf("after %d failures the breaker is %v", c.want, breaker.State())
			}
		})
	}
}

// HTTP-02: RetryIf decides, and sees the status.
func TestRetryIfSeesTheStatus(t *testing.T) {
	s := serve(t, answers(503, 429, 200))
	tr := configured(t, s.base(), httpres.Config{
		Layers: []resilience.Layer{thrice},
		RetryIf: func(err error) bool {
			var status *httpres.StatusError
			return errors.As(err, &status) && status.StatusCode() == 503
		},
	})
	if status, _ := send(t, tr, request(t, "GET", s.URL, nil)); status != 429 {
		t.Errorf("status %d, want 429, which RetryIf does not retry", status)
	}
}

// HTTP-02, BRK-17: what is retried and what counts against the server are two questions.
func TestFailureIfIsAnotherQuestion(t *testing.T) {
	s := serve(t, answers(503))
	never := func(error) bool { return false }
	for name, c := range map[string]struct {
		cfg      httpres.Config
		requests int32
		state    events.State
	}{
		"nothing counts":     {httpres.Config{FailureIf: never}, 3, events.StateClosed},
		"nothing is retried": {httpres.Config{RetryIf: never}, 1, events.StateOpen},
	} {
		t.Run(name, func(t *testing.T) {
			before := s.requests.Load()
			breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: events.NewBus()})
			c.cfg.Layers = []resilience.Layer{breaker, thrice}
			send(t, configured(t, s.base(), c.cfg), request(t, "GET", s.URL, nil))
			if n := s.requests.Load() - before; n != c.requests || breaker.State() != c.state {
				t.Errorf("%d requests, the breaker is %v, want %d and %v", n, breaker.State(), c.requests, c.state)
			}
		})
	}
}

// BRK-19, PIPE-11: a service that is only posted to opens its breaker, too.
func TestBreakerCountsWhatIsNotSentAgain(t *testing.T) {
	s := serve(t, answers(503))
	for name, failureIf := range map[string]func(error) bool{"If": nil, "FailureIf": resilience.IsTransient} {
		t.Run(name, func(t *testing.T) {
			breaker := resilience.MustBreaker(resilience.BreakerConfig{
				Name: "b", ConsecutiveFailures: 2, FailureIf: failureIf, Bus: events.NewBus()})
			tr := transport(t, s.base(), thrice, breaker)
			for range 2 {
				send(t, tr, request(t, "POST", s.URL, strings.NewReader("x")))
			}
			resp, err := tr.RoundTrip(request(t, "POST", s.URL, strings.NewReader("x")))
			if resp != nil || !errors.Is(err, resilience.ErrBreakerOpen) {
				t.Errorf("got %v, %v, want an open breaker", resp, err)
			}
		})
	}
}

// HTTP-02: a request that a breaker refused was not sent, so that even a POST may come back after the cooldown.
func TestRefusedPostMayComeBack(t *testing.T) {
	inBubble(t, "HTTP/1.1", answers(200), func(t *testing.T, base *http.Transport, _ *network) {
		breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: events.NewBus()})
		lease, err := breaker.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lease.Release(errRefused)
		tr := transport(t, base, resilience.Retry{RetryRejections: true}, breaker)
		sent := &stream{Reader: strings.NewReader("x")}
		if status, _ := send(t, tr, request(t, "POST", bubbleURL, sent)); status != 200 || sent.closed.Load() != 1 {
			t.Errorf("status %d, the body closed %d times", status, sent.closed.Load())
		}
	})
}

// HTTP-02: layers of the user's that hide the failure or run what is inside them twice do not make a POST go out twice.
func TestPostIsSentOnceWhateverTheLayersDo(t *testing.T) {
	masked := errors.New("masked")
	for name, layers := range map[string][]resilience.Layer{
		"error masked below the retry": {resilience.Retry{Backoff: resilience.NoDelay, If: func(error) bool { return true }},
			around("mask", func(next func() error) error {
				if next() != nil {
					return masked
				}
				return nil
			})},
		"run twice": {around("twice", func(next func() error) error {
			if next() != nil {
				return next()
			}
			return nil
		})},
		"nested retries": {thrice, thrice},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
			resp, err := transport(t, s.base(), layers...).RoundTrip(request(t, "POST", s.URL, strings.NewReader("x")))
			if resp != nil || err == nil {
				t.Errorf("got %v, %v", resp, err)
			}
			if n := s.requests.Load(); n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

// HTTP-02: nor does one that has had its answer.
func TestPostThatWasAnsweredIsNotSentAgain(t *testing.T) {
	s := serve(t, answers(200))
	tr := transport(t, s.base(), around("again", func(next func() error) error {
		if err := next(); err != nil {
			return err
		}
		return next()
	}))
	resp, err := tr.RoundTrip(request(t, "POST", s.URL, strings.NewReader("x")))
	if resp != nil || err == nil || s.requests.Load() != 1 {
		t.Errorf("got %v, %v after %d requests", resp, err, s.requests.Load())
	}
	if status, _ := send(t, tr, request(t, "GET", s.URL, nil)); status != 200 || s.requests.Load() != 3 {
		t.Errorf("a GET got %d after %d requests", status, s.requests.Load())
	}
}
