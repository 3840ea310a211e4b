package httpres_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// HTTP-09, HTTP-10: what the server's writer can do the handler's can, too.
func TestHandlersWriterCanDoWhatTheServersCan(t *testing.T) {
	m := middleware(t, httpres.MiddlewareConfig{Layers: []resilience.Layer{resilience.Timeout{}}})
	handle := func(w http.ResponseWriter, r *http.Request) {
		_, flushes := w.(http.Flusher)
		_, hijacks := w.(http.Hijacker)
		_, reads := w.(io.ReaderFrom)
		_, pushes := w.(http.Pusher)
		rc := http.NewResponseController(w)
		w.WriteHeader(http.StatusEarlyHints)
		deadline := rc.SetWriteDeadline(time.Now().Add(time.Minute))
		fmt.Fprint(w, flushes, hijacks, reads, pushes, deadline, rc.Flush(), rc.EnableFullDuplex())
	}
	if _, body := get(t, protect(t, m, handle), nil); body != "true true true false <nil> <nil> <nil>" {
		t.Errorf("HTTP/1.1: %s", body)
	}
	if _, body := get(t, serveHTTP2(t, m.Wrap(http.HandlerFunc(handle)).ServeHTTP), nil); !strings.HasPrefix(body, "true false true true <nil> <nil>") {
		t.Errorf("HTTP/2: %s", body)
	}
	rec := httptest.NewRecorder()
	m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, flushes := w.(http.Flusher)
		_, hijacks := w.(http.Hijacker)
		fmt.Fprint(w, flushes, hijacks)
	})).ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
	if rec.Body.String() != "true false" {
		t.Errorf("a recorder: %s", rec.Body)
	}
	var plain struct{ http.ResponseWriter }
	plain.ResponseWriter = httptest.NewRecorder()
	m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, flushes := w.(http.Flusher); flushes {
			t.Error("a writer that cannot flush does")
		}
		if err := http.NewResponseController(w).Flush(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("flushing: %v", err)
		}
	})).ServeHTTP(plain, httptest.NewRequest("GET", "/", nil))
}

// HTTP-09, HTTP-10: a connection that was taken over is the handler's, and its permit is held until it is done.
func TestHijackedConnection(t *testing.T) {
	room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, Bus: events.Off()})
	respond := func(http.ResponseWriter, *http.Request, int, error) {
		t.Error("a connection that is the handler's is answered on")
	}
	s := protect(t, middleware(t, httpres.MiddlewareConfig{Layers: []resilience.Layer{room}, Respond: respond}), func(w http.ResponseWriter, r *http.Request) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(buf, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n%d held", used(room))
		buf.Flush()
		panic("after all")
	})
	req := request(t, "GET", s.URL, nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := s.base().RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(resp.Body).ReadString(0)
	if resp.Body.Close(); resp.StatusCode != 101 || line != "1 held" {
		t.Errorf("%d, %q", resp.StatusCode, line)
	}
	for used(room) != 0 {
		runtime.Gosched()
	}
}
