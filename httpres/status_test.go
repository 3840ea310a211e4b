package httpres_test

import (
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
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// HTTP-05, RET-12
func TestServersHintRaisesTheDelay(t *testing.T) {
	for name, header := range map[string]func() string{
		"seconds": func() string { return "5" },
		"a date":  func() string { return time.Now().Add(5 * time.Second).UTC().Format(http.TimeFormat) },
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			handle := func(w http.ResponseWriter, _ *http.Request) {
				if calls++; calls == 1 {
					w.Header().Set("Retry-After", header())
					w.WriteHeader(503)
				}
			}
			inBubble(t, "HTTP/1.1", handle, func(t *testing.T, base *http.Transport, _ *network) {
				bus := events.NewBus()
				heard := resiliencetest.Record(bus)
				tr := configured(t, base, httpres.Config{Bus: bus, Layers: []resilience.Layer{
					resilience.Retry{Backoff: resilience.Constant(time.Second)}}})
				began := time.Now()
				if status, _ := send(t, tr, request(t, "GET", bubbleURL, nil)); status != 200 {
					t.Errorf("status %d", status)
				}
				if took := time.Since(began); took != 5*time.Second {
					t.Errorf("it waited %v, want 5s", took)
				}
				resiliencetest.Want(t, heard, events.RetryScheduled{Delay: 5 * time.Second})
			})
		})
	}
}

// HTTP-05, RET-12, RET-16
func TestServersHintIsCapped(t *testing.T) {
	handle := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "9223372037")
		w.WriteHeader(429)
	}
	for name, c := range map[string]struct {
		layers []resilience.Layer
		want   time.Duration
		reason events.Reason
	}{
		"by MaxDelay":       {[]resilience.Layer{resilience.Retry{MaxDelay: 3 * time.Second}}, 6 * time.Second, events.ReasonExhausted},
		"by StopOnLongHint": {[]resilience.Layer{resilience.Retry{StopOnLongHint: true}}, 0, events.ReasonNotRetryable},
		"by the deadline":   {[]resilience.Layer{resilience.Timeout{After: time.Second}, resilience.Retry{}}, 0, events.ReasonDeadline},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, "HTTP/1.1", handle, func(t *testing.T, base *http.Transport, _ *network) {
				bus := events.NewBus()
				heard := resiliencetest.Record(bus)
				tr := configured(t, base, httpres.Config{Bus: bus, Layers: c.layers})
				began := time.Now()
				if status, _ := send(t, tr, request(t, "GET", bubbleURL, nil)); status != 429 {
					t.Errorf("status %d", status)
				}
				if took := time.Since(began); took != c.want {
					t.Errorf("it ended after %v, want %v", took, c.want)
				}
				resiliencetest.Want(t, heard, events.RetryStopped{Reason: c.reason})
			})
		})
	}
}

// HTTP-04, RET-05, PITFALLS 35
func TestLastFailingResponseIsHandedOver(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Why", "maintenance")
		w.WriteHeader(503)
		io.WriteString(w, strings.Repeat("sorry ", 50_000))
	})
	bus := events.NewBus()
	heard := resiliencetest.Record(bus)
	tr := configured(t, s.base(), httpres.Config{Bus: bus, Layers: []resilience.Layer{resilience.Timeout{}, thrice}})
	req := request(t, "GET", s.URL, nil)
	resp, err := tr.RoundTrip(req)
	if err != nil || resp == nil {
		t.Fatalf("got %v, %v", resp, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || len(body) != 300_000 {
		t.Errorf("%d bytes of the body, %v", len(body), err)
	}
	if resp.StatusCode != 503 || resp.Header.Get("X-Why") != "maintenance" || resp.Request != req || s.requests.Load() != 3 {
		t.Errorf("after %d requests: %+v", s.requests.Load(), resp)
	}
	finished := resiliencetest.Of[events.ExecutionFinished](heard)[0]
	if finished.Outcome != events.OutcomeFailure || events.ErrorType(finished.Err) != "503" || finished.Attempts != 3 { // PIPE-28
		t.Errorf("the execution ended as %+v", finished)
	}
	for _, a := range resiliencetest.Of[events.AttemptFinished](heard) {
		if a.Outcome != events.OutcomeFailure || events.ErrorType(a.Err) != "503" {
			t.Errorf("an attempt ended as %+v", a)
		}
	}
}

// HTTP-04: an error comes without a response, and is the base's own.
func TestErrorComesWithoutAResponse(t *testing.T) {
	tr := transport(t, roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: http.NoBody}, errRefused
	}), thrice)
	for _, method := range []string{"GET", "POST"} {
		if resp, err := tr.RoundTrip(request(t, method, "http://x/", nil)); resp != nil || err != errRefused {
			t.Errorf("%s: got %v, %v, want no response and the base's error", method, resp, err)
		}
	}
}

// HTTP-04
func TestNeitherResponseNorErrorIsAnError(t *testing.T) {
	tr := transport(t, roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil }), thrice)
	if resp, err := tr.RoundTrip(request(t, "GET", "http://x/", nil)); resp != nil || err == nil {
		t.Errorf("got %v, %v", resp, err)
	}
}

func TestStatusErrorTellsItsStatus(t *testing.T) {
	var seen *httpres.StatusError
	tr := configured(t, roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 599, Header: http.Header{"Retry-After": {"9"}}, Body: http.NoBody}, nil
	}), httpres.Config{FailureStatuses: []int{599}, RetryIf: func(err error) bool { return !errors.As(err, &seen) }, Layers: []resilience.Layer{thrice}})
	send(t, tr, request(t, "GET", "http://x/", nil))
	if got := fmt.Sprintf("%v, %v, %v, %v", seen, seen.StatusCode(), seen.RetryAfter(), seen.ErrorType()); got != "httpres: status 599, 599, 9s, 599" {
		t.Error(got)
	}
	if !resilience.IsTransient(seen) {
		t.Error("a status that was declared a failure is not transient")
	}
}
