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
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// slowBody answers at once and sends five parts, one each 40 ms.
func slowBody(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for range 5 {
		pause(r, 40*time.Millisecond)
		if r.Context().Err() != nil {
			return
		}
		fmt.Fprint(w, "part ")
		w.(http.Flusher).Flush()
	}
}

// stall reads the request and never answers.
func stall(_ http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// HTTP-06, PIPE-27
func TestAttemptTimeoutCoversTheHeadersOnly(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			inBubble(t, protocol, slowBody, func(t *testing.T, base *http.Transport, _ *network) {
				tr := transport(t, base, resilience.Timeout{After: time.Second}, thrice, resilience.Timeout{After: 100 * time.Millisecond})
				began := time.Now()
				_, body := send(t, tr, request(t, "GET", bubbleURL, nil))
				if want := strings.Repeat("part ", 5); body != want {
					t.Errorf("the body is %q, want %q", body, want)
				}
				if took := time.Since(began); took != 200*time.Millisecond {
					t.Errorf("it took %v, want 200ms", took)
				}
			})
		})
	}
}

// HTTP-06
func TestTotalTimeoutGovernsTheBody(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			inBubble(t, protocol, slowBody, func(t *testing.T, base *http.Transport, _ *network) {
				tr := transport(t, base, resilience.Timeout{Name: "total", After: 150 * time.Millisecond}, thrice)
				resp, err := tr.RoundTrip(request(t, "GET", bubbleURL, nil))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				began := time.Now()
				body, err := io.ReadAll(resp.Body)
				if string(body) != "part part part " {
					t.Errorf("the body is %q up to the limit", body)
				}
				var limit *resilience.TimeoutError
				if !errors.As(err, &limit) || limit.Layer != "total" || !errors.Is(err, resilience.ErrTimeout) {
					t.Errorf("reading on fails with %v, want the total limit's TimeoutError", err)
				}
				if took := time.Since(began); took != 150*time.Millisecond {
					t.Errorf("reading ended after %v", took)
				}
			})
		})
	}
}

// HTTP-06: the context ends when the body is closed, not before and not later.
func TestAttemptsContextLivesUntilTheBodyIsClosed(t *testing.T) {
	var sent context.Context
	base := roundTripper(func(req *http.Request) (*http.Response, error) {
		sent = req.Context()
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("x"))}, nil
	})
	tr := transport(t, base, resilience.Timeout{}, thrice, resilience.Timeout{After: time.Second})
	resp, err := tr.RoundTrip(request(t, "GET", "http://x/", nil))
	if err != nil {
		t.Fatal(err)
	}
	if sent.Err() != nil {
		t.Errorf("before the body is closed the context has ended: %v", context.Cause(sent))
	}
	resp.Body.Close()
	if sent.Err() == nil {
		t.Error("the context lives on when the body is closed")
	}
}

// PITFALLS 21, TMO-07
func TestAttemptTimeoutIsRetriedAndTotalTimeoutEndsTheCall(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			inBubble(t, protocol, stall, func(t *testing.T, base *http.Transport, _ *network) {
				bus := events.NewBus()
				heard := resiliencetest.Record(bus)
				tr := configured(t, base, httpres.Config{Bus: bus, Layers: []resilience.Layer{
					resilience.Timeout{Name: "total", After: 250 * time.Millisecond}, thrice,
					resilience.Timeout{Name: "attempt", After: 100 * time.Millisecond},
				}})
				began := time.Now()
				resp, err := tr.RoundTrip(request(t, "GET", bubbleURL, nil))
				var limit *resilience.TimeoutError
				if resp != nil || !errors.As(err, &limit) || limit.Layer != "total" {
					t.Errorf("got %v, %v, want the total limit's TimeoutError", resp, err)
				}
				if took := time.Since(began); took != 250*time.Millisecond {
					t.Errorf("it took %v, want 250ms", took)
				}
				resiliencetest.Want(t, heard, events.AttemptFinished{Outcome: events.OutcomeTimeout}, events.AttemptFinished{}, events.AttemptFinished{})
			})
		})
	}
}

// HTTP-02, HTTP-06: an attempt that timed out may have had its effect.
func TestPostThatTimedOutIsNotSentAgain(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			inBubble(t, protocol, stall, func(t *testing.T, base *http.Transport, _ *network) {
				bus := events.NewBus()
				heard := resiliencetest.Record(bus)
				tr := configured(t, base, httpres.Config{Bus: bus, Layers: []resilience.Layer{
					thrice, resilience.Timeout{Name: "attempt", After: 100 * time.Millisecond},
				}})
				_, err := tr.RoundTrip(request(t, "POST", bubbleURL, strings.NewReader("order")))
				var limit *resilience.TimeoutError
				if !errors.As(err, &limit) || limit.Layer != "attempt" || limit.Err != nil {
					t.Errorf("got %v, want the attempt's plain TimeoutError", err)
				}
				if resilience.KindOf(err) != resilience.KindUnavailable {
					t.Errorf("the kind of %v is %v", err, resilience.KindOf(err))
				}
				resiliencetest.Want(t, heard, events.AttemptFinished{}, events.RetryStopped{Reason: events.ReasonNotRetryable})
			})
		})
	}
}

// TMO-01: what the base itself says of a timeout is kept.
func TestTimeoutKeepsTheBasesOwnError(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		base := roundTripper(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, errRefused
		})
		tr := transport(t, base, thrice, resilience.Timeout{After: time.Millisecond})
		_, err := tr.RoundTrip(request(t, method, "http://x/", nil))
		var limit *resilience.TimeoutError
		if !errors.As(err, &limit) || limit.Err != errRefused {
			t.Errorf("%s: got %v", method, err)
		}
	}
}

// HTTP-02: a good answer to a POST that comes with the limit is lost, but the POST is not sent again.
func TestPostWhoseAnswerCameTooLateIsNotSentAgain(t *testing.T) {
	inBubble(t, "HTTP/1.1", nil, func(t *testing.T, _ *http.Transport, _ *network) {
		sent := 0
		base := roundTripper(func(req *http.Request) (*http.Response, error) {
			sent++
			<-req.Context().Done()
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("done"))}, nil
		})
		tr := transport(t, base, resilience.Retry{}, resilience.Timeout{After: time.Second})
		began := time.Now()
		resp, err := tr.RoundTrip(request(t, "POST", bubbleURL, strings.NewReader("order")))
		if resp != nil || !errors.Is(err, resilience.ErrTimeout) {
			t.Errorf("got %v, %v, want a timeout", resp, err)
		}
		if sent != 1 || time.Since(began) != time.Second {
			t.Errorf("sent %d times in %v, want once and no wait", sent, time.Since(began))
		}
	})
}
