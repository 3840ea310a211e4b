package httpres_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// got keeps what a server got, one entry a request.
type got struct {
	mu       sync.Mutex
	bodies   []string
	requests []*http.Request
}

func (g *got) handle(statuses ...int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			body = fmt.Append(body, " and then ", err)
		}
		g.mu.Lock()
		g.bodies = append(g.bodies, string(body))
		g.requests = append(g.requests, r)
		n := len(g.bodies)
		g.mu.Unlock()
		w.WriteHeader(statuses[min(n, len(statuses))-1])
	}
}

// HTTP-01, PITFALLS 34
func TestEveryAttemptSendsTheWholeBody(t *testing.T) {
	text := strings.Repeat("0123456789", 20_000)
	for name, body := range map[string]func() io.Reader{
		"with GetBody": func() io.Reader { return strings.NewReader(text) },
		"without":      func() io.Reader { return &stream{Reader: strings.NewReader(text)} },
	} {
		for protocol, serve := range map[string]func(*testing.T, http.HandlerFunc) *server{"HTTP/1.1": serve, "HTTP/2.0": serveHTTP2} {
			t.Run(name+" "+protocol, func(t *testing.T) {
				var g got
				s := serve(t, g.handle(503, 503, 200))
				req := request(t, "PUT", s.URL, body())
				if status, _ := send(t, transport(t, s.base(), thrice), req); status != 200 {
					t.Errorf("status %d", status)
				}
				if !reflect.DeepEqual(g.bodies, []string{text, text, text}) {
					t.Errorf("the server got %d bodies, not three equal ones", len(g.bodies))
				}
				if sent, ok := req.Body.(*stream); ok && sent.closed.Load() != 1 {
					t.Errorf("the body was closed %d times", sent.closed.Load())
				}
			})
		}
	}
}

// HTTP-01: what breaks in the middle of a body is sent again whole.
func TestBodyIsSentAgainWholeAfterItWasCutShort(t *testing.T) {
	text := strings.Repeat("x", 500_000)
	var g got
	whole := g.handle(200)
	first := true
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if first {
			first = false
			io.CopyN(io.Discard, r.Body, 1000)
			panic(http.ErrAbortHandler) // resets the connection
		}
		whole(w, r)
	})
	sent := &stream{Reader: strings.NewReader(text)}
	status, _ := send(t, transport(t, s.base(), thrice), request(t, "PUT", s.URL, sent))
	if status != 200 || len(g.bodies) != 1 || g.bodies[0] != text {
		t.Errorf("status %d, %d bodies", status, len(g.bodies))
	}
	if sent.closed.Load() != 1 {
		t.Errorf("the body was closed %d times", sent.closed.Load())
	}
}

// HTTP-01: what the caller's body says when it cannot be read is what the caller gets; the server is not to blame.
func TestFailureToReadTheBodyIsReturned(t *testing.T) {
	broken := errors.New("disk on fire")
	for name, body := range map[string]io.Reader{
		"unknown":   io.MultiReader(strings.NewReader("part"), &failing{broken}),
		"transient": io.MultiReader(strings.NewReader("part"), &failing{io.ErrUnexpectedEOF}),
	} {
		for protocol, serve := range map[string]func(*testing.T, http.HandlerFunc) *server{"HTTP/1.1": serve, "HTTP/2.0": serveHTTP2} {
			t.Run(name+" "+protocol, func(t *testing.T) {
				s := serve(t, func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
				bus := events.NewBus()
				heard := resiliencetest.Record(bus)
				breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: bus})
				tr := configured(t, s.base(), httpres.Config{Bus: bus, Layers: []resilience.Layer{thrice, breaker}})
				sent := &stream{Reader: body}
				resp, err := tr.RoundTrip(request(t, "PUT", s.URL, sent))
				if resp != nil || err == nil || !strings.HasPrefix(err.Error(), "httpres: reading the request body: ") {
					t.Fatalf("got %v, %v", resp, err)
				}
				if !errors.Is(err, broken) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%v hides the body's own error", err)
				}
				resiliencetest.Want(t, heard, events.AttemptFinished{})
				if sent.closed.Load() != 1 {
					t.Errorf("the body was closed %d times", sent.closed.Load())
				}
				if breaker.State() != events.StateClosed {
					t.Error("the breaker has opened")
				}
			})
		}
	}
}

// HTTP-01: whatever RetryIf says, the rest of a body that broke is not to be had.
func TestBodyThatBrokeIsNotSentAgain(t *testing.T) {
	bus := events.NewBus()
	heard := resiliencetest.Record(bus)
	base := roundTripper(func(req *http.Request) (*http.Response, error) {
		_, err := io.ReadAll(req.Body)
		return nil, err
	})
	tr := configured(t, base, httpres.Config{Bus: bus, RetryIf: func(error) bool { return true }, Layers: []resilience.Layer{thrice}})
	sent := &stream{Reader: io.MultiReader(strings.NewReader("part"), &failing{io.ErrUnexpectedEOF})}
	if _, err := tr.RoundTrip(request(t, "PUT", "http://x/", sent)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	resiliencetest.Want(t, heard, events.AttemptFinished{}, events.RetryStopped{Reason: events.ReasonNotReplayable})
	if sent.closed.Load() != 1 {
		t.Errorf("the body was closed %d times", sent.closed.Load())
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// HTTP-01
func TestFailingGetBodyEndsTheRetry(t *testing.T) {
	s := serve(t, answers(503))
	bus := events.NewBus()
	heard := resiliencetest.Record(bus)
	tr := configured(t, s.base(), httpres.Config{Bus: bus, Layers: []resilience.Layer{
		resilience.Retry{Backoff: resilience.NoDelay, If: func(error) bool { return true }}}})
	req := request(t, "PUT", s.URL, strings.NewReader("x"))
	gone := errors.New("gone")
	req.GetBody = func() (io.ReadCloser, error) { return nil, gone }
	resp, err := tr.RoundTrip(req)
	if resp != nil || !errors.Is(err, gone) {
		t.Errorf("got %v, %v", resp, err)
	}
	resiliencetest.Want(t, heard, events.RetryStopped{Reason: events.ReasonNotReplayable})
}
