package httpres

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

type base func(*http.Request) (*http.Response, error)

func (b base) RoundTrip(req *http.Request) (*http.Response, error) { return b(req) }

// HTTP-01: only what may be sent again is remembered, and only if the whole of it can be.
func TestWhatIsRemembered(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		retry  resilience.Retry
		length int64
		body   string
		want   string
	}{
		"may be repeated":        {"PUT", resilience.Retry{}, -1, "body", "body"},
		"of the known length":    {"PUT", resilience.Retry{}, 4, "body", "body"},
		"is known to be longer":  {"PUT", resilience.Retry{}, 11, "body", ""},
		"turns out to be longer": {"PUT", resilience.Retry{}, -1, "much more than ten bytes", ""},
		"is not idempotent":      {"POST", resilience.Retry{}, -1, "body", ""},
		"nothing repeats":        {"PUT", resilience.Retry{MaxAttempts: 1}, -1, "body", ""},
	} {
		t.Run(name, func(t *testing.T) {
			kept := "not sent"
			tr := MustTransport(base(func(sent *http.Request) (*http.Response, error) {
				io.ReadAll(sent.Body)
				kept = string(sent.Body.(*replay).recording.kept)
				sent.Body.Close()
				if n, err := sent.Body.Read(make([]byte, 1)); n > 0 || err != http.ErrBodyReadAfterClose {
					t.Errorf("after Close Read returns %d, %v", n, err)
				}
				return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
			}), Config{Name: "test", Bus: events.NewBus(), MaxBodyBuffer: 10, Layers: []resilience.Layer{c.retry}})
			req, err := http.NewRequest(c.method, "http://x/", io.MultiReader(strings.NewReader(c.body[:2]), strings.NewReader(c.body[2:])))
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = c.length
			if _, err := tr.RoundTrip(req); err != nil || kept != c.want {
				t.Errorf("kept %q, %v, want %q", kept, err, c.want)
			}
		})
	}
}

// HTTP-01: an attempt that comes when the call is over does not close the source once more.
func TestRecordingIsClosedOnce(t *testing.T) {
	src := &closes{}
	r := newRecording(&http.Request{Body: src})
	r.done(false)
	late, err := r.open()
	if err != nil {
		t.Fatal(err)
	}
	late.Close()
	if src.n != 1 {
		t.Errorf("closed %d times", src.n)
	}
}

type closes struct{ n int }

func (*closes) Read([]byte) (int, error) { return 0, io.EOF }
func (c *closes) Close() error           { c.n++; return nil }
