package httpres_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// HTTP-03, PITFALLS 33
func TestDiscardedResponsesLeaveTheirConnection(t *testing.T) {
	for _, c := range []struct {
		name        string
		size        int
		drain       int64
		connections int32
	}{
		{"a short body", 10, 0, 1},
		{"no body", 0, 0, 1},
		{"a body of the limit", 1000, 1000, 1},
		{"a longer one", 50_000, 1000, 3},
		{"nothing is read", 10_000, -1, 3},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, " chunked ", chunked), func(t *testing.T) {
				s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					if !chunked {
						w.Header().Set("Content-Length", fmt.Sprint(c.size))
					}
					w.WriteHeader(503)
					w.(http.Flusher).Flush()
					io.WriteString(w, strings.Repeat("x", c.size))
				})
				tr := configured(t, s.base(), httpres.Config{DrainLimit: c.drain, Layers: []resilience.Layer{thrice}})
				if _, body := send(t, tr, request(t, "GET", s.URL, nil)); len(body) != c.size {
					t.Errorf("%d bytes of the last body", len(body))
				}
				if n := s.connections.Load(); n != c.connections {
					t.Errorf("3 attempts took %d connections, want %d", n, c.connections)
				}
			})
		}
	}
}

// HTTP-03: a server that stalls in the middle of a body that nobody wants holds nobody up.
func TestStalledBodyIsNotWaitedFor(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			var n atomic.Int32
			handle := func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) > 1 {
					return
				}
				w.WriteHeader(503)
				io.WriteString(w, "half of the")
				w.(http.Flusher).Flush()
				pause(r, time.Hour)
			}
			inBubble(t, protocol, handle, func(t *testing.T, base *http.Transport, net *network) {
				tr := transport(t, base, resilience.Timeout{After: time.Minute}, thrice)
				began := time.Now()
				if status, _ := send(t, tr, request(t, "GET", bubbleURL, nil)); status != 200 {
					t.Errorf("status %d", status)
				}
				if took := time.Since(began); took != 50*time.Millisecond {
					t.Errorf("it took %v, want the 50ms of draining", took)
				}
			})
		})
	}
}

// HTTP-03: every response but the last is closed, once, and the last one is not even read.
func TestEveryResponseButTheLastIsClosed(t *testing.T) {
	var bodies []*stream
	base := roundTripper(func(*http.Request) (*http.Response, error) {
		b := &stream{Reader: &counted{Reader: strings.NewReader("x")}}
		bodies = append(bodies, b)
		return &http.Response{StatusCode: 503, Body: b, ContentLength: -1}, nil
	})
	bus := events.NewBus()
	failed := 0
	bus.Subscribe(func(_ context.Context, e events.Event) {
		if _, ok := e.(events.DiscardFailed); ok {
			failed++
		}
	})
	tr := configured(t, base, httpres.Config{Bus: bus, Layers: []resilience.Layer{resilience.Retry{MaxAttempts: 5, Backoff: resilience.NoDelay}}})
	resp, err := tr.RoundTrip(request(t, "GET", "http://x/", nil))
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range bodies {
		last := i == len(bodies)-1
		if closed := b.closed.Load(); closed == 1 == last || closed > 1 {
			t.Errorf("body %d was closed %d times", i+1, closed)
		}
		if read := b.Reader.(*counted).n; read > 0 == last {
			t.Errorf("body %d was read %d times", i+1, read)
		}
	}
	resp.Body.Close()
	resp.Body.Close()
	if n := bodies[4].closed.Load(); n != 1 || len(bodies) != 5 || failed != 0 {
		t.Errorf("the last of %d bodies was closed %d times by its owner; %d failures", len(bodies), n, failed)
	}
}

// HTTP-03: a body is read to its end or, if it is known to be too long, not at all.
func TestHowFarADiscardedResponseIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		length int64
		limit  int64
		want   string // what is left
		ended  bool
	}{
		"of the limit":         {-1, 8, "", true},
		"longer":               {-1, 6, "y", false},
		"known to be":          {8, 6, "the body", false},
		"known, not longer":    {8, 8, "", true},
		"no limit to speak of": {-1, math.MaxInt64, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			var first *ending
			base := roundTripper(func(*http.Request) (*http.Response, error) {
				if first != nil {
					return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
				}
				first = &ending{Reader: strings.NewReader("the body")}
				return &http.Response{StatusCode: 503, Body: io.NopCloser(first), ContentLength: c.length}, nil
			})
			tr := configured(t, base, httpres.Config{DrainLimit: c.limit, Layers: []resilience.Layer{thrice}})
			send(t, tr, request(t, "GET", "http://x/", nil))
			ended := first.ended
			if left, _ := io.ReadAll(first); string(left) != c.want || ended != c.ended {
				t.Errorf("%q is left, the end was seen: %v", left, ended)
			}
		})
	}
}

type ending struct {
	io.Reader
	ended bool
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	e.ended = e.ended || err == io.EOF
	return n, err
}

type counted struct {
	io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) { c.n++; return c.Reader.Read(p) }
