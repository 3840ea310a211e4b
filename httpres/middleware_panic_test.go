package httpres_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// quiet is a server's log that is kept.
type quiet struct {
	mu   sync.Mutex
	text strings.Builder
}

func (q *quiet) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.text.Write(p)
}

func (q *quiet) String() string { q.mu.Lock(); defer q.mu.Unlock(); return q.text.String() }

// HTTP-10, PIPE-13: a panic is answered with 500, told and logged; an abort is none; no permit is left.
func TestHandlerThatPanics(t *testing.T) {
	bus := events.NewBus()
	heard := resiliencetest.Record(bus)
	room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, Bus: bus})
	m := middleware(t, httpres.MiddlewareConfig{Bus: bus, Layers: []resilience.Layer{room, resilience.Timeout{}}})
	var logged quiet
	s := httptest.NewUnstartedServer(m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/panic":
			panic("no idea")
		case "/hint":
			w.WriteHeader(http.StatusEarlyHints)
			panic("no idea, early")
		case "/half":
			io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic("no idea either")
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/exit":
			runtime.Goexit()
		case "/500":
			w.WriteHeader(http.StatusInternalServerError)
		}
	})))
	s.Config.ErrorLog = log.New(&logged, "", 0)
	s.Start()
	defer s.Close()
	for path, want := range map[string]string{"/panic": "500", "/hint": "500", "/half": "unexpected EOF", "/abort": "EOF", "/exit": "EOF", "/500": "500", "/": "200"} {
		resp, err := s.Client().Get(s.URL + path)
		got := fmt.Sprint(err)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
			if got = fmt.Sprint(resp.StatusCode); err != nil {
				got = err.Error()
			}
		}
		if !strings.HasSuffix(got, want) {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
		for used(room) != 0 {
			runtime.Gosched()
		}
	}
	outcomes := map[string]int{}
	for _, e := range resiliencetest.Of[events.ExecutionFinished](heard) {
		var p *resilience.PanicError
		if errors.As(e.Err, &p) && !strings.Contains(string(p.Stack), "TestHandlerThatPanics") {
			t.Errorf("the stack is %s", p.Stack)
		}
		outcomes[fmt.Sprint(e.Outcome, " ", p != nil)]++
	}
	if got := fmt.Sprint(outcomes); got != "map[failure false:3 failure true:3 success false:1]" {
		t.Errorf("told %s", got)
	}
	text := logged.String()
	if strings.Count(text, "http: panic serving") != 3 || !strings.Contains(text, "no idea either") || strings.Contains(text, "superfluous") {
		t.Errorf("logged %s", text)
	}
}
