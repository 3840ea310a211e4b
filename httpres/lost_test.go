package httpres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// HTTP-02: a connection that ends without an answer is a transport error, whatever net/http calls it.
func TestConnectionLostBeforeTheAnswerIsRetried(t *testing.T) {
	for name, end := range map[string]func(net.Conn){
		"closed": func(c net.Conn) { c.Close() },
		"reset": func(c net.Conn) {
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		},
		"half a header": func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 O")
			c.Close()
		},
	} {
		for _, method := range []string{"GET", "PUT", "DELETE", "POST"} {
			t.Run(name+" "+method, func(t *testing.T) {
				var once sync.Once
				s := serve(t, func(w http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					once.Do(func() {
						conn, _, err := http.NewResponseController(w).Hijack()
						if err != nil {
							t.Error(err)
							return
						}
						end(conn)
					})
				})
				bus := events.NewBus()
				breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: bus})
				tr := configured(t, s.base(), httpres.Config{Bus: bus, Layers: []resilience.Layer{breaker, thrice}})
				resp, err := tr.RoundTrip(request(t, method, s.URL, strings.NewReader("x")))
				if err == nil {
					resp.Body.Close()
				}
				if sentAgain := err == nil; sentAgain != (method != "POST") {
					t.Errorf("%v after %d requests", err, s.requests.Load())
				}
				if method == "POST" && (s.requests.Load() != 1 || breaker.State() != events.StateOpen) {
					t.Errorf("%d requests, the breaker is %v", s.requests.Load(), breaker.State())
				}
			})
		}
	}
}

// HTTP-02: net/http does not repeat a DELETE on a kept connection that the server closes at that moment, and names the
// error with no type.
func TestKeptConnectionThatWasClosedIsNoFailureOfADelete(t *testing.T) {
	for _, method := range []string{"DELETE", "PUT"} {
		t.Run(method, func(t *testing.T) {
			handle := func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }
			inBubble(t, "HTTP/1.1", handle, func(t *testing.T, base *http.Transport, n *network) {
				var kept net.Conn
				dial := n.dial
				base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
					c, err := dial(ctx, network, addr)
					kept = c
					return c, err
				}
				bus := events.NewBus()
				heard := resiliencetest.Record(bus)
				tr := configured(t, base, httpres.Config{Bus: bus, Layers: []resilience.Layer{thrice}})
				send(t, tr, request(t, "GET", bubbleURL, nil))
				ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
					if info.Reused {
						kept.Close()
						synctest.Wait()
					}
				}})
				req := request(t, method, bubbleURL, &stream{Reader: strings.NewReader("x")}).WithContext(ctx)
				if status, _ := send(t, tr, req); status != 200 || n.dialed.Load() != 2 {
					t.Errorf("status %d with %d connections", status, n.dialed.Load())
				}
				attempts := resiliencetest.Of[events.AttemptFinished](heard)
				if len(attempts) != 3 || attempts[1].Err == nil {
					t.Fatalf("attempts: %+v", attempts)
				}
			})
		})
	}
}

// HTTP-02: what is wrong with the request is not tried again and is not held against the server.
func TestErrorsAboutTheRequestAreNotRetried(t *testing.T) {
	s := serve(t, answers(200))
	for name, change := range map[string]func(*http.Request){
		"invalid header": func(r *http.Request) { r.Header["X-Bad"] = []string{"a\nb"} },
		"invalid method": func(r *http.Request) { r.Method = "BAD METHOD"; r.Header["Idempotency-Key"] = []string{"1"} },
		"unknown scheme": func(r *http.Request) { r.URL.Scheme = "gopher" },
		"no host":        func(r *http.Request) { r.URL.Host = "" },
		"wrong length":   func(r *http.Request) { r.ContentLength = 9 },
	} {
		t.Run(name, func(t *testing.T) {
			bus := events.NewBus()
			heard := resiliencetest.Record(bus)
			breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: bus})
			tr := configured(t, s.base(), httpres.Config{Bus: bus, Layers: []resilience.Layer{thrice, breaker}})
			req := request(t, "PUT", s.URL, &stream{Reader: strings.NewReader("x")})
			change(req)
			resp, err := tr.RoundTrip(req)
			if resp != nil || err == nil || breaker.State() != events.StateClosed {
				t.Errorf("got %v, %v, the breaker is %v", resp, err, breaker.State())
			}
			resiliencetest.Want(t, heard, events.AttemptFinished{})
		})
	}
}

// HTTP-02: an error with an opinion of its own keeps it, and the caller gets the base's error itself.
func TestErrorsOpinionCounts(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"end of file":     {fmt.Errorf("read: %w", io.EOF), 3},
		"unknown":         {errors.New("unknown"), 1},
		"permanent":       {resilience.Permanent(io.ErrUnexpectedEOF), 1},
		"temporary":       {&net.OpError{Op: "dial", Err: &net.DNSError{IsTemporary: true}}, 3},
		"a layer's below": {&resilience.TimeoutError{Layer: "below"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			for method, want := range map[string]int{"GET": c.want, "POST": 1} {
				sent := 0
				tr := transport(t, roundTripper(func(*http.Request) (*http.Response, error) { sent++; return nil, c.err }), thrice)
				if _, err := tr.RoundTrip(request(t, method, "http://x/", nil)); err != c.err {
					t.Errorf("%s: got %#v", method, err)
				}
				if sent != want {
					t.Errorf("%s: sent %d times, want %d", method, sent, want)
				}
			}
		})
	}
}

// HTTP-02: a base that asks somebody else first, with the request's context, and then fails itself, has lost no
// connection. Once it waits for an answer, an error says so, unless it has an opinion of its own.
func TestOnlyWhoWaitsForAnAnswerLosesAConnection(t *testing.T) {
	s := serve(t, answers(200))
	dropped := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	unknown := errors.New("unknown")
	for name, c := range map[string]struct {
		ask  string
		err  error
		want int
	}{
		"answered":             {s.URL, unknown, 1},
		"waiting":              {dropped.URL, unknown, 3},
		"waiting, permanent":   {dropped.URL, resilience.Permanent(unknown), 1},
		"waiting, its opinion": {dropped.URL, final{}, 1},
		"waiting, canceled":    {dropped.URL, context.Canceled, 1},
	} {
		t.Run(name, func(t *testing.T) {
			sent := 0
			tr := transport(t, roundTripper(func(req *http.Request) (*http.Response, error) {
				sent++
				other, err := http.NewRequestWithContext(req.Context(), "GET", c.ask, nil)
				if err != nil {
					return nil, err
				}
				if resp, err := s.base().RoundTrip(other); err == nil {
					resp.Body.Close()
				}
				return nil, c.err
			}), thrice)
			if _, err := tr.RoundTrip(request(t, "GET", "http://x/", nil)); !errors.Is(err, c.err) {
				t.Errorf("got %v", err)
			}
			if sent != c.want {
				t.Errorf("sent %d times, want %d", sent, c.want)
			}
		})
	}
}

type final struct{}

func (final) Error() string   { return "final" }
func (final) Transient() bool { return false }
