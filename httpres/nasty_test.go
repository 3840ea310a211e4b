package httpres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// nasty is what a server does to a request, by its path.
func nasty(w http.ResponseWriter, r *http.Request) {
	reset := func() {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler) // HTTP/2 resets its stream for that
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		conn.Close()
	}
	switch r.URL.Path {
	case "/reset":
		reset()
	case "/stall":
		io.Copy(io.Discard, r.Body) // before that a server does not notice who leaves
		<-r.Context().Done()
	case "/trickle":
		for range 3 {
			io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	case "/half":
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		reset()
	case "/idle":
		w.Header().Set("Connection", "close")
	case "/early":
		w.WriteHeader(503) // nothing of the body is read
	case "/echo":
		body, _ := io.ReadAll(r.Body)
		w.Write(body)
	}
}

// HTTP-01, HTTP-06, PIPE-20: ten thousand requests of a preset to a server that resets, stalls, trickles, sends half a body, closes
// its connections and answers early leave no connection, body, permit or goroutine.
func TestTenThousandRequestsToANastyServerLeaveNothing(t *testing.T) {
	n := 10_000 // requests
	if testing.Short() || raceDetector {
		n = 500
	}
	for protocol, serve := range map[string]func(*testing.T, http.HandlerFunc) *server{"HTTP/1.1": serve, "HTTP/2.0 over TLS": serveHTTP2} {
		t.Run(protocol, func(t *testing.T) {
			if raceDetector && protocol != "HTTP/1.1" {
				t.Skip("net/http itself looks at a body that an HTTP/2 stream may still read (golang/go#41234), and the detector sees it")
			}
			s := serve(t, nasty)
			before := runtime.NumGoroutine()
			base := s.base().Clone()
			cfg := httpres.Standard("nasty")
			cfg.Bus = events.NewBus()
			places := bulkhead(t, 2000)
			cfg.Layers = []resilience.Layer{places, resilience.Timeout{Name: "total", After: 2 * time.Second},
				resilience.Retry{Backoff: resilience.Constant(time.Millisecond)}, resilience.Timeout{Name: "attempt", After: 30 * time.Millisecond}}
			tr := httpres.MustTransport(base, cfg)
			client := &http.Client{Transport: tr}
			paths := []string{"/reset", "/trickle", "/half", "/idle", "/early", "/echo", "/echo", "/echo"}
			var all sync.WaitGroup
			for worker := range 20 {
				all.Go(func() {
					for i := worker; i < n; i += 20 {
						path := paths[i%len(paths)]
						if i%400 == 0 {
							path = "/stall"
						}
						var body io.Reader = bytes.NewReader(make([]byte, i%3000))
						if i%2 == 0 {
							body = io.MultiReader(body) // of unknown length
						}
						req := request(t, []string{"PUT", "POST", "GET"}[i%3], s.URL+path, body)
						if i%11 == 0 {
							ctx, leave := context.WithTimeout(t.Context(), time.Duration(i%20)*time.Millisecond)
							req = req.WithContext(ctx)
							defer leave()
						}
						resp, err := client.Do(req)
						if err != nil {
							continue
						}
						if i%5 > 0 {
							io.Copy(io.Discard, resp.Body)
						}
						resp.Body.Close()
					}
				})
			}
			all.Wait()
			base.CloseIdleConnections()
			s.CloseClientConnections()
			if used := used(places); used != 0 {
				t.Errorf("%d permits are held", used)
			}
			settled := func() bool { return runtime.NumGoroutine() <= before+5 }
			for end := time.Now().Add(10 * time.Second); !settled() && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
			if after := runtime.NumGoroutine(); after > before+5 {
				t.Errorf("%d goroutines before, %d after", before, after)
			}
		})
	}
}

// HTTP-01: bodies of every size arrive whole, also where the first answer is a refusal.
func TestBodiesOfEverySizeArriveWhole(t *testing.T) {
	for protocol, serve := range map[string]func(*testing.T, http.HandlerFunc) *server{"HTTP/1.1": serve, "HTTP/2.0 over TLS": serveHTTP2} {
		for _, size := range []int{0, 1, 10 << 20} {
			for _, kind := range []string{"in memory", "of known length", "of unknown length"} {
				t.Run(fmt.Sprintf("%s, %d bytes %s", protocol, size, kind), func(t *testing.T) {
					var refused sync.Map
					s := serve(t, func(w http.ResponseWriter, r *http.Request) {
						if _, again := refused.LoadOrStore("", true); !again {
							io.Copy(io.Discard, r.Body)
							w.WriteHeader(503)
							return
						}
						nasty(w, r)
					})
					sent := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
					req := request(t, "PUT", s.URL+"/echo", bytes.NewReader(sent))
					if kind != "in memory" {
						req.GetBody, req.Body = nil, io.NopCloser(io.MultiReader(bytes.NewReader(sent)))
					}
					if kind == "of unknown length" {
						req.ContentLength = -1
					}
					tr := configured(t, s.base(), httpres.Config{Layers: []resilience.Layer{thrice}, MaxBodyBuffer: 16 << 20})
					resp, err := tr.RoundTrip(req)
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
					got, err := io.ReadAll(resp.Body)
					if err != nil || resp.StatusCode != 200 || !bytes.Equal(got, sent) {
						t.Errorf("status %d, %d of %d bytes came back, %v", resp.StatusCode, len(got), size, err)
					}
				})
			}
		}
	}
}

// HTTP-04, HTTP-06: what each kind of misbehaviour comes to, with a preset on a real connection.
func TestWhatAPresetMakesOfANastyServer(t *testing.T) {
	for protocol, serve := range map[string]func(*testing.T, http.HandlerFunc) *server{"HTTP/1.1": serve, "HTTP/2.0 over TLS": serveHTTP2} {
		s := serve(t, nasty)
		cfg := httpres.Standard("nasty")
		cfg.Bus = events.NewBus()
		cfg.Layers[2] = thrice
		cfg.Layers[4] = resilience.Timeout{Name: "attempt", After: 300 * time.Millisecond}
		tr := httpres.MustTransport(s.base(), cfg)
		for path, want := range map[string]string{
			"/reset": "error after 3", "/stall": "timeout after 3", "/trickle": "200 after 1: 3 bytes", "/half": "200 after 1: cut short",
			"/idle": "200 after 1: 0 bytes", "/early": "503 after 3: 0 bytes",
		} {
			before := s.requests.Load()
			resp, err := tr.RoundTrip(request(t, "PUT", s.URL+path, strings.NewReader(strings.Repeat("y", 1000))))
			n := s.requests.Load() - before
			var got string
			switch {
			case errors.Is(err, resilience.ErrTimeout):
				got = fmt.Sprintf("timeout after %d", n)
			case err != nil:
				got = fmt.Sprintf("error after %d", n)
			default:
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				got = fmt.Sprintf("%d after %d: %d bytes", resp.StatusCode, n, len(body))
				if err != nil {
					got = fmt.Sprintf("%d after %d: cut short", resp.StatusCode, n)
				}
			}
			if got != want {
				t.Errorf("%s %s: %s (%v), want %s", protocol, path, got, err, want)
			}
		}
	}
}
