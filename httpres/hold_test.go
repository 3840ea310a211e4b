package httpres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// answering is a base that answers with a body.
func answering(status int, body io.ReadCloser) roundTripper {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: body}, nil
	}
}

func bulkhead(t *testing.T, limit int) *resilience.Bulkhead {
	t.Helper()
	return resilience.MustBulkhead(resilience.BulkheadConfig{Name: "places", MaxConcurrent: limit, Bus: events.NewBus()})
}

func used(b *resilience.Bulkhead) int64 { return b.Snapshot().Usage }

// HTTP-12
func TestBulkheadIsHeldUntilTheBodyIsClosed(t *testing.T) {
	places := bulkhead(t, 1)
	tr := transport(t, answering(200, io.NopCloser(strings.NewReader("a body"))), places, resilience.Timeout{}, thrice)
	resp, err := tr.RoundTrip(request(t, "GET", "http://x/", nil))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Read(make([]byte, 1))
	if _, err := tr.RoundTrip(request(t, "GET", "http://x/", nil)); !errors.Is(err, resilience.ErrLimited) {
		t.Errorf("while the body is open another request gets %v", err)
	}
	resp.Body.Close()
	resp.Body.Close()
	if n := used(places); n != 0 {
		t.Errorf("%d places are held when the body is closed", n)
	}
}

// HTTP-12: who reads to the end has what there is, also without Close.
func TestBulkheadIsReleasedAtTheEndOfTheBody(t *testing.T) {
	for name, c := range map[string]struct {
		body io.Reader
		err  error
	}{
		"whole":     {strings.NewReader("all"), nil},
		"cut short": {io.MultiReader(strings.NewReader("al"), &failing{io.ErrUnexpectedEOF}), io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			places := bulkhead(t, 1)
			tr := transport(t, answering(200, io.NopCloser(c.body)), places, thrice)
			resp, err := tr.RoundTrip(request(t, "GET", "http://x/", nil))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(resp.Body); err != c.err {
				t.Errorf("reading ended with %v", err)
			}
			if n := used(places); n != 0 {
				t.Errorf("%d places are held at the end of the body", n)
			}
			resp.Body.Close()
		})
	}
}

// HTTP-09, HTTP-12: a server may say all while it is still being sent to: that goes on, and the request holds its place.
func TestEndOfTheBodyDoesNotCutTheRequestShort(t *testing.T) {
	var sent *http.Request
	base := roundTripper(func(req *http.Request) (*http.Response, error) {
		sent = req
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("all"))}, nil
	})
	for name, end := range map[string]func(*http.Response){
		"request sent":    func(*http.Response) { sent.Body.Close() },
		"response closed": func(r *http.Response) { r.Body.Close() },
	} {
		places := bulkhead(t, 1)
		tr := transport(t, base, places, resilience.Timeout{}, thrice)
		resp, err := tr.RoundTrip(request(t, "POST", "http://x/", &stream{Reader: strings.NewReader("long")}))
		if err != nil {
			t.Fatal(err)
		}
		io.ReadAll(resp.Body)
		if sent.Context().Err() != nil || used(places) != 1 {
			t.Errorf("%s: at the end of the body the context is %v, %d places are held", name, sent.Context().Err(), used(places))
		}
		end(resp)
		if sent.Context().Err() == nil || used(places) != 0 {
			t.Errorf("%s: at the end the context is alive, %d places are held", name, used(places))
		}
	}
}

// HTTP-12: a response without a body holds nothing, and still has none.
func TestResponseWithoutABodyHoldsNothing(t *testing.T) {
	for _, body := range []io.ReadCloser{nil, http.NoBody} {
		places := bulkhead(t, 1)
		resp, err := transport(t, answering(204, body), places, resilience.Timeout{}).RoundTrip(request(t, "GET", "http://x/", nil))
		if err != nil || resp.Body != body {
			t.Errorf("the body is %v, %v, want %v", resp.Body, err, body)
		}
		if n := used(places); n != 0 {
			t.Errorf("%d places are held", n)
		}
	}
}

// HTTP-12
func TestBreakerLearnsTheOutcomeAtTheHeaders(t *testing.T) {
	for status, want := range map[int]events.State{200: events.StateClosed, 503: events.StateOpen} {
		breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: events.NewBus()})
		tr := transport(t, answering(status, io.NopCloser(&failing{io.ErrUnexpectedEOF})), breaker)
		resp, err := tr.RoundTrip(request(t, "GET", "http://x/", nil))
		if err != nil {
			t.Fatal(err)
		}
		if s := breaker.State(); s != want {
			t.Errorf("%d: the breaker is %v before the body was read", status, s)
		}
		io.ReadAll(resp.Body)
		resp.Body.Close()
		if s := breaker.State(); s != want {
			t.Errorf("%d: the breaker is %v after the body was cut short", status, s)
		}
	}
}

// HTTP-12: with a retry in between, only the last attempt's response holds on.
func TestDiscardedResponsesHoldNothing(t *testing.T) {
	inner := bulkhead(t, 1)
	s := serve(t, answers(503, 503, 200))
	tr := transport(t, s.base(), thrice, inner, resilience.Timeout{})
	resp, err := tr.RoundTrip(request(t, "GET", s.URL, nil))
	if err != nil || resp.StatusCode != 200 || used(inner) != 1 {
		t.Fatalf("got %v, %v with %d places held", resp, err, used(inner))
	}
	resp.Body.Close()
	if n := used(inner); n != 0 {
		t.Errorf("%d places are held", n)
	}
}

// PIPE-15, PIPE-27: a caller that leaves while it reads the body gets its own error, and nothing is left.
func TestCallerLeavesWhileReading(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			endless := func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					fmt.Fprint(w, "more ")
					w.(http.Flusher).Flush()
					pause(r, time.Second)
				}
			}
			inBubble(t, protocol, endless, func(t *testing.T, base *http.Transport, _ *network) {
				places := bulkhead(t, 1)
				tr := transport(t, base, places, resilience.Timeout{After: time.Minute}, thrice)
				ctx, cancel := context.WithCancel(t.Context())
				resp, err := tr.RoundTrip(request(t, "GET", bubbleURL, nil).WithContext(ctx))
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(2500*time.Millisecond, cancel)
				body, err := io.ReadAll(resp.Body)
				if string(body) != "more more more " || !errors.Is(err, context.Canceled) {
					t.Errorf("read %q, %v", body, err)
				}
				resp.Body.Close()
				if n := used(places); n != 0 {
					t.Errorf("%d places are held", n)
				}
			})
		})
	}
}

// HTTP-06: who closes without reading, or leaves the body to its limit, leaves nothing behind: the bubble would tell.
func TestCallerNeverReads(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			big := func(w http.ResponseWriter, _ *http.Request) { w.Write(bytes.Repeat([]byte("x"), 1<<20)) }
			inBubble(t, protocol, big, func(t *testing.T, base *http.Transport, _ *network) {
				places := bulkhead(t, 100)
				tr := transport(t, base, places, resilience.Timeout{After: time.Minute}, thrice, resilience.Timeout{})
				for range 10 {
					resp, err := tr.RoundTrip(request(t, "GET", bubbleURL, nil))
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
				}
				if n := used(places); n != 0 {
					t.Errorf("%d places are held", n)
				}
			})
		})
	}
}
