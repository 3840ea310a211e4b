package httpres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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

func middleware(t *testing.T, cfg httpres.MiddlewareConfig) *httpres.Middleware {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "api"
	}
	if cfg.Bus == nil {
		cfg.Bus = events.NewBus()
	}
	m, err := httpres.NewMiddleware(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// protect starts a server whose handler stands behind a middleware.
func protect(t *testing.T, m *httpres.Middleware, handle http.HandlerFunc) *server {
	return serve(t, m.Wrap(handle).ServeHTTP)
}

// get returns the whole answer.
func get(t *testing.T, s *server, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	req := request(t, "GET", s.URL, nil)
	if change != nil {
		change(req)
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// occupy has one request served until the function it returns is called.
func occupy(t *testing.T, s *server, started <-chan struct{}, end chan<- struct{}) func() {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := s.Client().Get(s.URL + "/hold"); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	<-started
	return func() { end <- struct{}{}; <-done }
}

// HTTP-10: 503 where the server has enough to do, 429 where the rate is exceeded, with Retry-After and a problem document.
func TestServerShedsWhatItCannotServe(t *testing.T) {
	bus := events.Off()
	slow := resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "rate", Rate: 1, Per: 90 * time.Second, Bus: bus})
	open := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Bus: bus})
	open.ForceOpen()
	for name, c := range map[string]struct {
		layer      resilience.Layer
		retryAfter time.Duration
		status     int
		header     string
	}{
		"bulkhead": {resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, Bus: bus}), 0, 503, "1"},
		"adaptive": {resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "room", Initial: 1, Min: 1, Max: 1, Bus: bus}), 2500 * time.Millisecond, 503, "3"},
		"no hint":  {resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, Bus: bus}), -1, 503, ""},
		"rate":     {slow, time.Second, 429, "90"},
		"breaker":  {open, 0, 503, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			started, end := make(chan struct{}), make(chan struct{})
			s := protect(t, middleware(t, httpres.MiddlewareConfig{Layers: []resilience.Layer{c.layer}, RetryAfter: c.retryAfter}),
				func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/hold" {
						started <- struct{}{}
						<-end
					}
					io.WriteString(w, "served")
				})
			if name != "breaker" {
				release := occupy(t, s, started, end)
				defer release()
			}
			resp, body := get(t, s, nil)
			h := resp.Header
			after := h.Get("Retry-After")
			if name == "rate" && after == "89" {
				after = "90"
			}
			if resp.StatusCode != c.status || after != c.header || h.Get("Content-Type") != "application/problem+json" || h.Get("Cache-Control") != "no-store" {
				t.Errorf("status %d, header %v", resp.StatusCode, h)
			}
			var p struct {
				Type, Title, Detail string
				Status              int
			}
			if err := json.Unmarshal([]byte(body), &p); err != nil || p.Status != c.status || p.Title != http.StatusText(c.status) || p.Type != "about:blank" || p.Detail == "" {
				t.Errorf("the problem is %s", body)
			}
			if strings.Contains(body, "room") || strings.Contains(body, "db") {
				t.Errorf("the client is told what is inside: %s", body)
			}
			head, body := get(t, s, func(r *http.Request) { r.Method = "HEAD" })
			if head.StatusCode != c.status || body != "" {
				t.Errorf("HEAD: %d, %q", head.StatusCode, body)
			}
		})
	}
}

// HTTP-10: who matters more is served first, and takes the place of who matters less.
func TestServerHonoursPriorities(t *testing.T) {
	room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, MaxQueue: 1, Bus: events.Off()})
	started, end := make(chan struct{}), make(chan struct{})
	m := middleware(t, httpres.MiddlewareConfig{Layers: []resilience.Layer{room}, Priority: httpres.PriorityFrom("Importance")})
	s := protect(t, m, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			started <- struct{}{}
			<-end
		}
		fmt.Fprint(w, resilience.PriorityOf(r.Context()))
	})
	release := occupy(t, s, started, end)
	answers := make(map[string]string)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, p := range []string{"sheddable", "CRITICAL"} {
		wg.Go(func() {
			resp, body := get(t, s, func(r *http.Request) { r.Header.Set("Importance", p) })
			mu.Lock()
			defer mu.Unlock()
			answers[p] = fmt.Sprint(resp.StatusCode, " ", body)
		})
		for room.Snapshot().Queued != 1 {
			runtime.Gosched()
		}
	}
	for { // the one that matters less has gone
		mu.Lock()
		n := len(answers)
		mu.Unlock()
		if n == 1 {
			break
		}
		runtime.Gosched()
	}
	release()
	wg.Wait()
	if !strings.HasPrefix(answers["sheddable"], "503 ") || answers["CRITICAL"] != "200 critical" {
		t.Errorf("answers %v", answers)
	}
	for header, want := range map[string]string{"": "normal", "low": "low", " Normal ": "normal", "urgent": "normal", "2": "normal"} {
		if _, body := get(t, s, func(r *http.Request) { r.Header.Set("Importance", header) }); body != want {
			t.Errorf("%q is %s", header, body)
		}
	}
}

// HTTP-10: what the client does not wait for any more is not served; the handler's context ends with the client's time.
func TestServerHonoursTheClientsTime(t *testing.T) {
	room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, MaxQueue: 1, Bus: events.Off()})
	m := middleware(t, httpres.MiddlewareConfig{Layers: []resilience.Layer{room}, Timeout: httpres.TimeoutFrom("Request-Timeout")})
	started, end := make(chan struct{}), make(chan struct{})
	s := protect(t, m, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hold":
			started <- struct{}{}
			<-end
			return
		case "/wait":
			<-r.Context().Done()
			return
		}
		at, ok := r.Context().Deadline()
		fmt.Fprint(w, ok && time.Until(at) > 50*time.Second && time.Until(at) < time.Minute)
	})
	ask := func(path, timeout string) string {
		resp, body := get(t, s, func(r *http.Request) { r.URL.Path = path; r.Header.Set("Request-Timeout", timeout) })
		if resp.StatusCode != 200 && resp.Header.Get("Retry-After") != "" {
			t.Errorf("%s: the client is told to come back in %s", timeout, resp.Header.Get("Retry-After"))
		}
		return fmt.Sprint(resp.StatusCode, " ", body)
	}
	if got := ask("/", "60S"); got != "200 true" {
		t.Error(got)
	}
	if got := ask("/", "soon"); got != "200 false" {
		t.Error(got)
	}
	for _, c := range []string{"/ 0m", "/wait 20m"} {
		path, timeout, _ := strings.Cut(c, " ")
		if got := ask(path, timeout); !strings.HasPrefix(got, "504 ") || !strings.Contains(got, "time ran out") {
			t.Errorf("%s: %s", c, got)
		}
	}
	release := occupy(t, s, started, end)
	if got := ask("/", "20m"); !strings.HasPrefix(got, "504 ") { // in the queue
		t.Error(got)
	}
	release()
	if n := room.Snapshot(); n.Usage != 0 || n.Queued != 0 {
		t.Errorf("left behind: %+v", n)
	}
}

// HTTP-10: a Timeout that passes before anything was written is answered for; after that the handler's answer stands.
func TestServersTimeout(t *testing.T) {
	m := middleware(t, httpres.MiddlewareConfig{Layers: []resilience.Layer{resilience.Timeout{After: 20 * time.Millisecond}}})
	s := protect(t, m, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", "x")
		if r.URL.Path == "/begun" {
			w.WriteHeader(http.StatusAccepted)
		}
		<-r.Context().Done()
	})
	if resp, body := get(t, s, nil); resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" || resp.Header.Get("Etag") != "" || body == "" {
		t.Errorf("%d, %v, %q", resp.StatusCode, resp.Header, body)
	}
	if resp, body := get(t, s, func(r *http.Request) { r.URL.Path = "/begun" }); resp.StatusCode != 202 || body != "" {
		t.Errorf("%d, %q", resp.StatusCode, body)
	}
}

// HTTP-10
func TestClosedMiddlewareTurnsAway(t *testing.T) {
	bus := events.NewBus()
	m := middleware(t, httpres.MiddlewareConfig{Bus: bus, Respond: func(w http.ResponseWriter, r *http.Request, status int, err error) {
		http.Error(w, err.Error(), status)
	}})
	s := protect(t, m, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "served") })
	if _, body := get(t, s, nil); body != "served" {
		t.Errorf("got %q", body)
	}
	for range 2 {
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if resp, body := get(t, s, nil); resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" || body != resilience.ErrClosed.Error()+"\n" {
		t.Errorf("%d, %v, %q", resp.StatusCode, resp.Header, body)
	}
	if len(bus.Sources()) != 0 {
		t.Error("it is still on its bus")
	}
}

// HTTP-10: each client has a limit of its own, by key.
func TestEachClientHasItsOwnLimit(t *testing.T) {
	perClient := resilience.MustKeyed(resilience.KeyedConfig{Name: "clients", Bus: events.Off(), New: func(string) (resilience.Gate, error) {
		return resilience.NewRateLimiter(resilience.RateLimiterConfig{Name: "client", Rate: 1, Per: time.Hour, Bus: events.Off()})
	}})
	m := middleware(t, httpres.MiddlewareConfig{Layers: []resilience.Layer{perClient}, Key: func(r *http.Request) string { return r.Header.Get("Client") }})
	s := protect(t, m, func(http.ResponseWriter, *http.Request) {})
	got := ""
	for _, client := range []string{"a", "a", "b", "b"} {
		resp, _ := get(t, s, func(r *http.Request) { r.Header.Set("Client", client) })
		got += fmt.Sprint(resp.StatusCode, " ")
	}
	if got != "200 429 200 429 " {
		t.Errorf("got %s", got)
	}
}

// A layer of the user's that runs the rest twice does not serve twice.
func TestRequestIsServedOnce(t *testing.T) {
	served := 0
	twice := resilience.Around("twice", func(ctx context.Context, next func(context.Context) error) error {
		_ = next(ctx)
		return next(ctx)
	})
	s := protect(t, middleware(t, httpres.MiddlewareConfig{Layers: []resilience.Layer{twice}}), func(w http.ResponseWriter, r *http.Request) {
		served++
		io.WriteString(w, "served")
	})
	if resp, body := get(t, s, nil); resp.StatusCode != 200 || body != "served" || served != 1 {
		t.Errorf("%d, %q, served %d times", resp.StatusCode, body, served)
	}
}
