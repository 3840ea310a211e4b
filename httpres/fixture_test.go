package httpres_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// thrice makes three attempts without delay.
var thrice = resilience.Retry{Backoff: resilience.NoDelay}

// transport makes a transport with the layers on a bus of its own.
func transport(t *testing.T, base http.RoundTripper, layers ...resilience.Layer) *httpres.Transport {
	t.Helper()
	return configured(t, base, httpres.Config{Layers: layers})
}

func configured(t *testing.T, base http.RoundTripper, cfg httpres.Config) *httpres.Transport {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "test"
	}
	if cfg.Bus == nil {
		cfg.Bus = events.NewBus()
	}
	tr, err := httpres.NewTransport(base, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// server is a real one, which counts requests and connections.
type server struct {
	*httptest.Server
	requests    atomic.Int32
	connections atomic.Int32
}

func serve(t *testing.T, handle http.HandlerFunc) *server {
	return start(t, handle, (*httptest.Server).Start)
}

func serveHTTP2(t *testing.T, handle http.HandlerFunc) *server {
	return start(t, handle, func(s *httptest.Server) {
		s.EnableHTTP2 = true
		s.StartTLS()
	})
}

func start(t *testing.T, handle http.HandlerFunc, start func(*httptest.Server)) *server {
	t.Helper()
	s := new(server)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		handle(w, r)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	start(s.Server)
	t.Cleanup(s.Close)
	return s
}

// base returns a http.Transport of the server's own.
func (s *server) base() *http.Transport { return s.Client().Transport.(*http.Transport) }

// answers handles one request after another with these statuses, and the rest with the last.
func answers(statuses ...int) http.HandlerFunc {
	var n atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(statuses[min(int(n.Add(1)), len(statuses))-1])
		io.WriteString(w, "the body")
	}
}

func request(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// send sends a request and returns the status and the body of the answer.
func send(t *testing.T, rt http.RoundTripper, req *http.Request) (int, string) {
	t.Helper()
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: reading the body: %v", req.Method, req.URL.Path, err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// stream is a body that can be read once, and tells whether it was closed.
type stream struct {
	io.Reader
	closed atomic.Int32
}

func (s *stream) Close() error { s.closed.Add(1); return nil }

// roundTripper is a base made of a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

var errRefused = errors.New("refused")

// around is a layer of the user's.
func around(name string, f func(next func() error) error) resilience.Layer {
	return resilience.Around(name, func(ctx context.Context, next func(context.Context) error) error {
		return f(func() error { return next(ctx) })
	})
}

// network is in memory, for bubbles: when a test ends with a connection or a goroutine left, its bubble panics.
type network struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
	dialed atomic.Int32
}

func (n *network) dial(context.Context, string, string) (net.Conn, error) {
	n.dialed.Add(1)
	client, server := net.Pipe()
	select {
	case n.accept <- server:
		return client, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.accept:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error   { n.once.Do(func() { close(n.closed) }); return nil }
func (n *network) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

// protocols are those that a bubble's server speaks.
var protocols = []string{"HTTP/1.1", "HTTP/2.0"}

// inBubble runs test with a server in a bubble, where time passes when everybody waits. It fails if a goroutine is left.
func inBubble(t *testing.T, protocol string, handle http.HandlerFunc, test func(t *testing.T, base *http.Transport, net *network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := &network{accept: make(chan net.Conn), closed: make(chan struct{})}
		var speaks http.Protocols
		speaks.SetHTTP1(protocol == "HTTP/1.1")
		speaks.SetUnencryptedHTTP2(protocol == "HTTP/2.0")
		s := &http.Server{Handler: handle, Protocols: &speaks}
		served := make(chan struct{})
		go func() {
			defer close(served)
			s.Serve(n)
		}()
		base := &http.Transport{DialContext: n.dial, Protocols: &speaks}
		test(t, base, n)
		base.CloseIdleConnections()
		s.Close()
		<-served
	})
}

// pause waits in a handler, unless the client leaves.
func pause(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

const bubbleURL = "http://server.test/"
