package console

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
)

// within waits for something that happens on sockets, whose time is real.
func within(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); time.Since(began) < limit; time.Sleep(5 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Errorf("not within %v: %s", limit, what)
}

func (r *rig) looking() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.viewers)
}

// quick is a rig whose time passes fast, on a real server.
func quick(t *testing.T, p pace, configure func(*http.Server)) (*rig, *httptest.Server) {
	t.Helper()
	bus := events.NewBus()
	c, err := newConsole(bus, Config{}, p)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(c)
	configure(server.Config)
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &rig{t: t, bus: bus, Console: c}, server
}

func TestAVanishedBrowserLeavesNothingBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	func() {
		r, server := quick(t, pace{10 * time.Millisecond, 20 * time.Millisecond, time.Second}, func(*http.Server) {})
		for range 5 {
			resp, err := http.Get(server.URL + "/stream")
			if err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "retry:") {
				t.Errorf("%q, %v", line, err)
			}
			resp.Body.Close() // the connection goes
		}
		within(t, 5*time.Second, "the viewers are gone", func() bool { return r.looking() == 0 })
		within(t, 5*time.Second, "nobody listens", func() bool { return !r.bus.CallsHeard() })
		server.CloseClientConnections()
		server.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		r.closes()
	}()
	within(t, 5*time.Second, fmt.Sprintf("as many goroutines as before (%d)", before), func() bool { return runtime.NumGoroutine() <= before })
}

// A browser that is stuck fills its connection; the deadline of a write ends it.
func TestAStuckConnectionIsDropped(t *testing.T) {
	r, server := quick(t, pace{time.Millisecond, time.Second, 100 * time.Millisecond}, func(s *http.Server) {
		s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			_ = c.(*net.TCPConn).SetWriteBuffer(4096)
			return ctx
		}
	})
	for i := range 200 { // what is written is large
		r.pipeline(fmt.Sprintf("pipeline-%d", i), retry(3))
	}
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(conn, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
	within(t, 5*time.Second, "a viewer", func() bool { return r.looking() == 1 })
	within(t, 10*time.Second, "the stuck viewer is dropped", func() bool { return r.looking() == 0 })
}

// The timeouts of a server are for requests, not for streams.
func TestAStreamOutlivesTheServersTimeouts(t *testing.T) {
	_, server := quick(t, pace{20 * time.Millisecond, time.Second, time.Second}, func(s *http.Server) {
		s.ReadTimeout, s.WriteTimeout, s.IdleTimeout = 100*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond
	})
	resp, err := http.Get(server.URL + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for began := time.Now(); lines.Scan(); {
		if lines.Text() == "event: state" && time.Since(began) > 300*time.Millisecond {
			return
		}
	}
	t.Errorf("the stream ended: %v", lines.Err())
}

// Shutdown waits for requests; a page that is open is none to wait for.
func TestAnOpenPageDoesNotHoldUpAShutdown(t *testing.T) {
	r, server := quick(t, usualPace, func(*http.Server) {})
	for range 3 {
		resp, err := http.Get(server.URL + "/stream")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
	}
	if len(r.servers) != 1 {
		t.Errorf("%d hooks for one server", len(r.servers))
	}
	ctx, cancel := contextWithTimeout(5 * time.Second)
	defer cancel()
	if err := server.Config.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown with an open page: %v", err)
	}
}

func TestAServerThatCannotStreamIsLeft(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		var body strings.Builder
		w := struct{ http.ResponseWriter }{&browser{header: http.Header{}}}
		r.ServeHTTP(plain{w, &body}, httptest.NewRequest(http.MethodGet, "/stream", nil))
		if r.looking() != 0 {
			t.Error("a viewer is left")
		}
	})
}

// plain is a ResponseWriter that can neither flush nor set deadlines.
type plain struct {
	http.ResponseWriter
	to io.Writer
}

func (p plain) Write(b []byte) (int, error) { return p.to.Write(b) }

// readStream reads a stream until it or the context ends.
func readStream(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// collect has the garbage collector find what is not held any more.
func collect() { runtime.GC() }
