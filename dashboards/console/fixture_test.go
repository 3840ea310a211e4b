package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	flag.Parse()
	time.Local = time.UTC // golden files have times
	os.Exit(m.Run())
}

var errSecret = errors.New("secret-text")

// rig is a bus with what a test builds on it, and its console.
type rig struct {
	t   *testing.T
	bus *events.Bus
	*Console
	kept []any // or the garbage collector ends them
}

// inBubble runs test with a console in a bubble, where a second passes when everybody waits. It fails if a goroutine is left.
func inBubble(t *testing.T, cfg Config, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, cfg)
		test(r)
		r.closes()
	})
}

func newRig(t *testing.T, cfg Config) *rig {
	t.Helper()
	bus := events.NewBus()
	c, err := New(bus, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, bus: bus, Console: c}
}

func (r *rig) closes() {
	r.t.Helper()
	if err := r.Close(context.Background()); err != nil {
		r.t.Error(err)
	}
}

// ask sends one request.
func (r *rig) ask(method, path string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	r.ServeHTTP(rec, httptest.NewRequest(method, path, nil))
	return rec
}

// get asks for a document and wants it.
func (r *rig) get(path string) string {
	r.t.Helper()
	rec := r.ask(http.MethodGet, path)
	if rec.Code != http.StatusOK {
		r.t.Fatalf("GET %s: %d %s", path, rec.Code, rec.Body)
	}
	return rec.Body.String()
}

func (r *rig) getState() (s state) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(r.get("/state.json")), &s); err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) getEvents(query string) []map[string]any {
	r.t.Helper()
	var a struct{ Events []map[string]any }
	if err := json.Unmarshal([]byte(r.get("/events.json"+query)), &a); err != nil {
		r.t.Fatal(err)
	}
	return a.Events
}

func (r *rig) breaker(name string) *resilience.Breaker {
	b := resilience.MustBreaker(resilience.BreakerConfig{Name: name, ConsecutiveFailures: 3, Cooldown: 10 * time.Second, Bus: r.bus})
	r.kept = append(r.kept, b)
	return b
}

func (r *rig) pipeline(name string, layers ...resilience.Layer) *resilience.Pipeline[int] {
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: name, Layers: layers, Bus: r.bus})
	r.kept = append(r.kept, p)
	return p
}

func succeed(context.Context) (int, error) { return 1, nil }

func fail(context.Context) (int, error) { return 0, errSecret }

// browser reads a stream in a bubble: a ResponseWriter that remembers, and blocks while it is stuck.
type browser struct {
	header http.Header
	leave  context.CancelFunc
	gone   chan struct{} // closed when the request was served

	mu       sync.Mutex
	status   int
	text     bytes.Buffer
	stuck    bool
	deadline time.Time
}

// connect opens a stream.
func (r *rig) connect(lastID string) *browser {
	ctx, cancel := context.WithCancel(context.Background())
	b := &browser{header: http.Header{}, leave: cancel, gone: make(chan struct{})}
	req := httptest.NewRequest(http.MethodGet, "/stream", nil).WithContext(ctx)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	go func() {
		defer close(b.gone)
		r.ServeHTTP(b, req)
	}()
	synctest.Wait()
	return b
}

func (b *browser) Header() http.Header { return b.header }

func (b *browser) WriteHeader(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status = status
}

func (b *browser) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stuck {
		left := time.Until(b.deadline)
		b.mu.Unlock()
		time.Sleep(left)
		b.mu.Lock()
		return 0, os.ErrDeadlineExceeded
	}
	return b.text.Write(p)
}

func (b *browser) Flush() {}

func (b *browser) SetWriteDeadline(t time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deadline = t
	return nil
}

func (b *browser) stick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stuck = true
}

// message is one server-sent event.
type message struct{ id, event, data string }

// read returns what came since the last read.
func (b *browser) read() (all []message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var m message
	lines := bufio.NewScanner(bytes.NewReader(bytes.Clone(b.text.Bytes())))
	lines.Buffer(nil, 16<<20)
	b.text.Reset()
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "id":
			m.id = value
		case "event":
			m.event = value
		case "data":
			m.data = value
		case "":
			if m != (message{}) {
				all = append(all, m)
			}
			m = message{}
		}
	}
	return all
}

// named returns the messages with a name.
func named(all []message, event string) (some []message) {
	for _, m := range all {
		if m.event == event {
			some = append(some, m)
		}
	}
	return some
}

type ctx = context.Context

func contextWithTimeout(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

func retry(attempts int) resilience.Retry {
	return resilience.Retry{MaxAttempts: attempts, Backoff: resilience.NoDelay}
}

func near(v, want, off float64) bool { return v >= want-off && v <= want+off }
