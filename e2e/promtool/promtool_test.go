package promtool_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/e2e/outage"
	"github.com/telltale-go/telltale/e2e/promtool"
	"github.com/telltale-go/telltale/events"
)

// PROM-02: what is scraped after an outage, as text, is quiet: `promtool check metrics`.
func TestPromtoolFindsNothingInAScrape(t *testing.T) {
	for name, attach := range map[string]outage.Attach{"promres": outage.Promres, "otelres": outage.Otelres} {
		var last []byte
		outage.Play(t, time.Minute, func(t *testing.T, bus *events.Bus) (http.Handler, func()) {
			exposed, detach := attach(t, bus)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				exposed.ServeHTTP(w, r)
				last = text(t, exposed)
			}), detach
		})
		if n := strings.Count(string(last), "\nresilience_"); n < 200 {
			t.Errorf("%s: only %d series were scraped: the test proves too little", name, n)
		}
		if said := promtool.Run(t, last, "check", "metrics"); said != "" {
			t.Errorf("%s: promtool says\n%s", name, said)
		}
	}
}

// text scrapes in the format that a person reads.
func text(t *testing.T, h http.Handler) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if kind := w.Header().Get("Content-Type"); w.Code != http.StatusOK || !strings.HasPrefix(kind, "text/plain") {
		t.Fatalf("the scrape answered %d as %s", w.Code, kind)
	}
	return w.Body.Bytes()
}

// DASH-01: the rules and alerts that are shipped are such that Prometheus takes them.
func TestPromtoolTakesTheRules(t *testing.T) {
	for _, file := range []string{"rules.yaml", "alerts.yaml"} {
		said := promtool.Run(t, nil, "check", "rules", "../../dashboards/prometheus/"+file)
		if !strings.Contains(said, "SUCCESS") || strings.Contains(said, "SUCCESS: 0 rules") {
			t.Errorf("%s: promtool says\n%s", file, said)
		}
	}
}

// What promtool objects to is seen.
func TestPromtoolIsHeard(t *testing.T) {
	objecting := &heard{TB: t}
	said := promtool.Run(objecting, []byte("# TYPE calls counter\ncalls 1\n"), "check", "metrics")
	if objecting.errors != 1 || !strings.Contains(said, "_total") {
		t.Errorf("%d errors, and it said %q", objecting.errors, said)
	}
}

type heard struct {
	testing.TB
	errors int
}

func (h *heard) Errorf(string, ...any) { h.errors++ }
