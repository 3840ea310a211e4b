package promres

import (
	"flag"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/names"
)

// The golden file is made by: go test ./promres -run Golden -update
var update = flag.Bool("update", false, "write testdata anew")

// canonical makes a pipeline of six layers in the canonical order, and the states that it shares.
func (r *rig) canonical(name string) (pipeline *events.Source, states []*events.Source) {
	pool := r.limiter(name+"-pool", events.LimiterReading{Limit: 100})
	clients := r.limiter(name+"-clients", events.LimiterReading{Limit: 20})
	db := r.breaker(name + "-db")
	db.set(func(b *events.BreakerReading) {
		b.Since, b.Cooldown, b.Limit = time.Unix(1_800_000_000, 0), 5*time.Second, 0.5
		b.Spent[events.StateClosed] = time.Minute
	})
	layer := func(position int, layer, typ string, shared *events.Source, settings string) events.SourceSpec {
		return events.SourceSpec{Pipeline: name, Layer: layer, Type: typ, Position: position, Shared: shared, Settings: settings}
	}
	return r.keep(r.bus.NewSource(events.SourceSpec{Pipeline: name, Type: events.TypePipeline, Layers: []events.SourceSpec{
		layer(0, name+"-pool", events.TypeBulkhead, pool, "max_concurrent=100"),
		layer(1, name+"-clients", events.TypeBulkhead, clients, "max_concurrent=20"),
		layer(2, "timeout-2", events.TypeTimeout, nil, "after=2s"),
		layer(3, "retry", events.TypeRetry, nil, "max_attempts=3"),
		layer(4, name+"-db", events.TypeBreaker, db.source, "failure_ratio=0.5"),
		layer(5, "timeout-5", events.TypeTimeout, nil, "after=500ms"),
	}})), []*events.Source{pool, clients, db.source}
}

// live is a life with successes and failures.
func (r *rig) live(p *events.Source) {
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess, Duration: 20 * time.Millisecond},
		succeeded(events.AttemptInitial, 20*time.Millisecond))
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess, Duration: 700 * time.Millisecond, Backoff: 250 * time.Millisecond},
		failed(events.AttemptInitial, 200*time.Millisecond, classed("503")), succeeded(events.AttemptRetry, 250*time.Millisecond))
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeFailure, Duration: time.Second, Backoff: 500 * time.Millisecond},
		failed(events.AttemptInitial, 100*time.Millisecond, classed("503")), failed(events.AttemptRetry, 100*time.Millisecond, classed("503")),
		failed(events.AttemptRetry, 300*time.Millisecond, classed("503")))
	r.bus.RetryStopped.Publish(r.t.Context(), events.RetryStopped{Meta: events.Meta{Source: p.Layers()[3]}, Reason: events.ReasonExhausted})
}

// everything adds each other outcome, reason and transition to it.
func (r *rig) everything(p *events.Source, states []*events.Source) {
	for _, o := range events.Outcomes() {
		var attempts []events.AttemptFinished
		if slices.Contains(events.AttemptOutcomes(), o) {
			attempts = append(attempts, events.AttemptFinished{Kind: events.AttemptInitial, Outcome: o, Duration: time.Millisecond})
		}
		call(r.bus, p, events.ExecutionFinished{Outcome: o, Duration: time.Second, Queued: time.Millisecond}, attempts...)
	}
	for _, l := range p.Layers() {
		for _, reason := range events.RejectionReasons(l.Type()) {
			r.bus.CallRejected.Publish(r.t.Context(), events.CallRejected{Meta: events.Meta{Source: l}, Reason: reason})
		}
	}
	for _, tr := range events.Transitions() {
		r.bus.BreakerStateChanged.Publish(r.t.Context(), events.BreakerStateChanged{Meta: events.Meta{Source: states[2]}, To: tr.To, Reason: tr.Reason})
	}
	r.bus.TimedOut.Publish(r.t.Context(), events.TimedOut{Meta: events.Meta{Source: p.Layers()[5]}})
}

// PROM-02
func TestLintFindsNothing(t *testing.T) {
	r := newRig(t, Config{})
	p, states := r.canonical("users")
	r.live(p)
	r.everything(p, states)
	problems, err := testutil.GatherAndLint(r.reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// PROM-02
func TestGoldenExposition(t *testing.T) {
	r := newRig(t, Config{})
	p, _ := r.canonical("users")
	r.live(p)
	const golden = "testdata/exposition.txt"
	if *update {
		if err := os.WriteFile(golden, exposition(r.reg, t), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.Open(golden)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	var all []string
	for _, m := range names.All() {
		if m.Name != names.BuildInfo.Of().Name { // its label is the version
			all = append(all, nameOf(m))
		}
	}
	if err := testutil.GatherAndCompare(r.reg, want, all...); err != nil {
		t.Error(err)
	}
}

// exposition is the text that a scrape gets, without build_info, whose label is the version.
func exposition(reg *prometheus.Registry, t *testing.T) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	var text strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		if !strings.Contains(line, nameOf(names.BuildInfo.Of())) {
			text.WriteString(line)
		}
	}
	return []byte(text.String())
}

// PROM-02: the classic series of a pipeline of six layers with what it shares. The budget holds for a pipeline whose calls
// succeed; each further outcome that calls and attempts really have adds its histograms.
func TestSixLayersStayWithinTheBudgetOfSeries(t *testing.T) {
	const budget, perOutcome = 130, 34
	r := newRig(t, Config{})
	none := classicSeries(t, r.reg)
	p, states := r.canonical("users")
	born := classicSeries(t, r.reg) - none
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, succeeded(events.AttemptInitial, 1))
	healthy := classicSeries(t, r.reg) - none
	r.live(p)
	lived := classicSeries(t, r.reg) - none
	r.everything(p, states)
	all := classicSeries(t, r.reg) - none
	t.Logf("series of six layers: %d when built, %d with successes, %d with failures too, %d with every outcome", born, healthy, lived, all)
	if healthy > budget {
		t.Errorf("%d series, want at most %d", healthy, budget)
	}
	errorTypes := len(r.named("attempt_failures_total"))
	if most := healthy + errorTypes + perOutcome*(len(events.Outcomes())-1); all > most {
		t.Errorf("%d series with every outcome, want at most %d", all, most)
	}
}

// classicSeries counts the lines of samples that a text scrape has.
func classicSeries(t *testing.T, reg *prometheus.Registry) int {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	n := 0
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "resilience_") {
			n++
		}
	}
	return n
}

// PROM-02: no metric of 40 such pipelines has 2000 label sets, which is where OpenTelemetry would cut off.
func TestFortyPipelinesStayBelowOpenTelemetrysLimit(t *testing.T) {
	r := newRig(t, Config{})
	for i := range 40 {
		p, states := r.canonical("users-" + string(rune('A'+i)))
		r.live(p)
		r.everything(p, states)
	}
	families, err := r.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if n := len(f.Metric); n >= 2000 {
			t.Errorf("%s has %d label sets", f.GetName(), n)
		}
	}
}

// TELEMETRY: histograms of seconds are classic and native at once.
func TestDurationsAreClassicAndNativeAtOnce(t *testing.T) {
	r := newRig(t, Config{})
	p := r.pipeline("users", events.TypeRetry)
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess, Duration: time.Second}, succeeded(events.AttemptInitial, time.Second))
	families, err := r.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range families {
		if !strings.HasSuffix(f.GetName(), "_duration_seconds") {
			continue
		}
		for _, m := range f.Metric {
			seen++
			h := m.Histogram
			if h.Schema == nil || len(h.PositiveSpan) == 0 {
				t.Errorf("%s has no native buckets", f.GetName())
			}
			if bounds := names.ExecutionDuration.Of().Bounds; len(h.Bucket) != len(bounds) {
				t.Errorf("%s has %d classic buckets, want %d", f.GetName(), len(h.Bucket), len(bounds))
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d histograms of seconds, want 2", seen)
	}
}
