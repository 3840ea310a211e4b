package httpres_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// PITFALLS 21, PIPE-21
func TestCallersDeadlineIsNoTimeoutOfOurs(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			inBubble(t, protocol, stall, func(t *testing.T, base *http.Transport, _ *network) {
				bus := events.NewBus()
				heard := resiliencetest.Record(bus)
				tr := configured(t, base, httpres.Config{Bus: bus, Layers: []resilience.Layer{
					thrice, resilience.Timeout{After: time.Second},
				}})
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				_, err := (&http.Client{Transport: tr}).Do(request(t, "GET", bubbleURL, nil).WithContext(ctx))
				if resilience.KindOf(err) != resilience.KindCanceled || errors.Is(err, resilience.ErrTimeout) {
					t.Errorf("got %v of kind %v, want the caller's own end", err, resilience.KindOf(err))
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v is no context.DeadlineExceeded", err)
				}
				if failed, ok := err.(*url.Error); !ok || !failed.Timeout() {
					t.Errorf("Timeout() of %v is false, which it is not without the transport", err)
				}
				resiliencetest.Want(t, heard, events.AttemptFinished{})
			})
		})
	}
}

// HTTP-09: http.Client.Timeout, which works by Request.Cancel as well, ends a call and says so.
func TestClientTimeoutEndsACallAlsoBetweenAttempts(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			inBubble(t, protocol, answers(503), func(t *testing.T, base *http.Transport, _ *network) {
				bus := events.NewBus()
				tr := configured(t, base, httpres.Config{Bus: bus, Layers: []resilience.Layer{
					resilience.Retry{Backoff: resilience.Constant(time.Minute), IgnoreDeadline: true, MaxDelay: time.Hour},
				}})
				began := time.Now()
				_, err := (&http.Client{Transport: tr, Timeout: time.Second}).Get(bubbleURL)
				var timeout interface{ Timeout() bool }
				if !errors.As(err, &timeout) || !timeout.Timeout() {
					t.Errorf("got %v, want the client's timeout", err)
				}
				if took := time.Since(began); took != time.Second {
					t.Errorf("it took %v, want 1s", took)
				}
			})
		})
	}
}

// HTTP-09
func TestRequestCancelEndsACall(t *testing.T) {
	inBubble(t, "HTTP/1.1", stall,
		func(t *testing.T, base *http.Transport, _ *network) {
			tr := transport(t, base, thrice, resilience.Timeout{After: 10 * time.Second})
			for _, method := range []string{"GET", "POST"} {
				req := request(t, method, bubbleURL, nil)
				cancel := make(chan struct{})
				req.Cancel = cancel //lint:ignore SA1019 callers still use it
				time.AfterFunc(time.Second, func() { close(cancel) })
				began := time.Now()
				_, err := tr.RoundTrip(req)
				var canceled *resilience.CanceledError
				if !errors.As(err, &canceled) || canceled.Last != nil || time.Since(began) != time.Second {
					t.Errorf("%s: got %v after %v, want a cancellation after 1s", method, err, time.Since(began))
				}
			}
		})
}

// PIPE-15, PIPE-16, PIPE-21: the caller's end is told once, with its cause, and is nobody's failure.
func TestCancellationIsToldOnce(t *testing.T) {
	shutdown := errors.New("shutdown")
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			inBubble(t, protocol, stall, func(t *testing.T, base *http.Transport, _ *network) {
				bus := events.NewBus()
				heard := resiliencetest.Record(bus)
				breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: bus})
				tr := configured(t, base, httpres.Config{Bus: bus, Layers: []resilience.Layer{thrice, breaker, resilience.Timeout{}}})
				for _, method := range []string{"GET", "POST"} {
					ctx, cancel := context.WithCancelCause(t.Context())
					time.AfterFunc(time.Second, func() { cancel(shutdown) })
					_, err := tr.RoundTrip(request(t, method, bubbleURL, nil).WithContext(ctx))
					var canceled *resilience.CanceledError
					if !errors.As(err, &canceled) || canceled.Cause != shutdown || canceled.Last != nil {
						t.Errorf("%s: got %v", method, err)
					}
				}
				for _, e := range resiliencetest.Of[events.ExecutionFinished](heard) {
					if e.Outcome != events.OutcomeCanceled || e.Attempts != 1 || e.Err.(*resilience.CanceledError).Last != nil {
						t.Errorf("the execution ended as %+v", e)
					}
				}
				if breaker.State() != events.StateClosed {
					t.Error("the breaker has opened")
				}
			})
		})
	}
}

// PIPE-12, PIPE-16: who leaves after a failure gets that, too, as the base made it.
func TestCancellationCarriesTheFailureBefore(t *testing.T) {
	bus := events.NewBus()
	tr := configured(t, roundTripper(func(*http.Request) (*http.Response, error) { return nil, io.EOF }),
		httpres.Config{Bus: bus, Layers: []resilience.Layer{thrice}})
	ctx, cancel := context.WithCancel(t.Context())
	bus.RetryStopped.Subscribe(func(context.Context, events.RetryStopped) { cancel() })
	_, err := tr.RoundTrip(request(t, "POST", "http://x/", nil).WithContext(ctx))
	var canceled *resilience.CanceledError
	if !errors.As(err, &canceled) || canceled.Last != io.EOF {
		t.Errorf("got %v", err)
	}
}

// HTTP-09, PIPE-20: what watches Request.Cancel ends with the request: the bubble would tell.
func TestWatchOfRequestCancelEnds(t *testing.T) {
	for name, c := range map[string]struct {
		base roundTripper
		use  func(*http.Response)
	}{
		"error":     {func(*http.Request) (*http.Response, error) { return nil, errRefused }, nil},
		"no body":   {answering(204, http.NoBody), func(*http.Response) {}},
		"closed":    {answering(200, io.NopCloser(strings.NewReader("x"))), func(r *http.Response) { r.Body.Close() }},
		"read":      {answering(200, io.NopCloser(strings.NewReader("x"))), func(r *http.Response) { io.ReadAll(r.Body) }},
		"discarded": {answering(503, io.NopCloser(strings.NewReader("x"))), func(r *http.Response) { r.Body.Close() }},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, "HTTP/1.1", nil, func(t *testing.T, _ *http.Transport, _ *network) {
				places := bulkhead(t, 1)
				tr := transport(t, roundTripper(func(sent *http.Request) (*http.Response, error) {
					//lint:ignore SA1019 that nobody need look at it is what is tested
					if sent.Cancel != nil {
						t.Error("the base is to watch Request.Cancel, too")
					}
					return c.base(sent)
				}), places, thrice)
				req := request(t, "GET", bubbleURL, nil).WithContext(context.Background())
				req.Cancel = make(chan struct{}) //lint:ignore SA1019 callers still use it
				resp, err := tr.RoundTrip(req)
				if (err == nil) != (c.use != nil) {
					t.Fatal(err)
				}
				if c.use != nil {
					c.use(resp)
				}
				if n := used(places); n != 0 {
					t.Errorf("%d places are held", n)
				}
			})
		})
	}
}

// neverEnds is a context whose deadline ends nothing.
type neverEnds struct{ context.Context }

func (neverEnds) Deadline() (time.Time, bool) { return time.Now().Add(-time.Hour), true }

// HTTP-09: Request.Cancel ends a call also where a deadline does not that has passed.
func TestRequestCancelEndsACallWhoseDeadlineDoesNot(t *testing.T) {
	inBubble(t, "HTTP/1.1", stall, func(t *testing.T, base *http.Transport, _ *network) {
		req := request(t, "GET", bubbleURL, nil).WithContext(neverEnds{t.Context()})
		cancel := make(chan struct{})
		req.Cancel = cancel //lint:ignore SA1019 callers still use it
		time.AfterFunc(time.Second, func() { close(cancel) })
		began := time.Now()
		_, err := transport(t, base, thrice).RoundTrip(req)
		var canceled *resilience.CanceledError
		if took := time.Since(began); !errors.As(err, &canceled) || took > 2*time.Second {
			t.Errorf("got %v after %v, want a cancellation after a second", err, took)
		}
	})
}
