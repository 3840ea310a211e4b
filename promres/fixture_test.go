package promres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/telltale-go/telltale/events"
)

var errBoom = errors.New("boom")

// rig is a bus with promres attached to a registry of its own, which checks all that it gathers.
type rig struct {
	t      *testing.T
	bus    *events.Bus
	reg    *prometheus.Registry
	detach func()
	mu     sync.Mutex
	kept   []*events.Source // the bus holds sources weakly
}

func newRig(t *testing.T, cfg Config) *rig {
	t.Helper()
	r := &rig{t: t, bus: events.NewBus(), reg: prometheus.NewPedanticRegistry()}
	cfg.Registerer = r.reg
	detach, err := Attach(r.bus, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.detach = detach
	t.Cleanup(func() {
		detach()
		runtime.KeepAlive(r)
	})
	return r
}

// scrape returns the value of each series, those of histograms being their counts.
func (r *rig) scrape() map[string]float64 {
	r.t.Helper()
	return scrape(r.t, r.reg)
}

func scrape(t *testing.T, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			key := seriesName(f.GetName(), m)
			if _, twice := all[key]; twice {
				t.Errorf("gathered twice: %s", key)
			}
			all[key] = seriesValue(m)
		}
	}
	return all
}

// ofSources leaves out the series of the bus and of the build, which exist without any source.
func ofSources(all map[string]float64) map[string]float64 {
	maps.DeleteFunc(all, func(name string, _ float64) bool {
		return strings.HasPrefix(name, "bus_") || strings.HasPrefix(name, "build_info{")
	})
	return all
}

func seriesName(name string, m *dto.Metric) string {
	var labels []string
	for _, l := range m.Label {
		labels = append(labels, fmt.Sprintf("%s=%q", strings.TrimPrefix(l.GetName(), "resilience_"), l.GetValue()))
	}
	return strings.TrimPrefix(name, "resilience_") + "{" + strings.Join(labels, ",") + "}"
}

func seriesValue(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	}
	return float64(m.Histogram.GetSampleCount())
}

// want asserts the values of series, named as in scrape; -1 means that there is none.
func (r *rig) want(expected map[string]float64) {
	r.t.Helper()
	got := r.scrape()
	for name, value := range expected {
		v, ok := got[name]
		switch {
		case value == -1 && ok:
			r.t.Errorf("%s = %v, want no such series", name, v)
		case value != -1 && !ok:
			r.t.Errorf("no series %s, want %v", name, value)
		case value != -1 && v != value:
			r.t.Errorf("%s = %v, want %v", name, v, value)
		}
	}
}

// named returns the series of one metric.
func (r *rig) named(metric string) []string {
	r.t.Helper()
	var names []string
	for name := range r.scrape() {
		if strings.HasPrefix(name, metric+"{") {
			names = append(names, name)
		}
	}
	return names
}

// pipeline makes a source as a pipeline does, its layers of the given types and named for them.
func (r *rig) pipeline(name string, types ...string) *events.Source {
	spec := events.SourceSpec{Pipeline: name, Type: events.TypePipeline}
	for i, typ := range types {
		spec.Layers = append(spec.Layers, events.SourceSpec{Pipeline: name, Layer: typ, Type: typ, Position: i})
	}
	return r.keep(r.bus.NewSource(spec))
}

// keep holds a source until the test ends.
func (r *rig) keep(s *events.Source) *events.Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, s)
	return s
}

// fakeBreaker stands for a breaker: its reading can be set.
type fakeBreaker struct {
	source  *events.Source
	mu      sync.Mutex
	reading events.BreakerReading
}

func (r *rig) breaker(name string) *fakeBreaker {
	b := &fakeBreaker{reading: events.BreakerReading{State: events.StateClosed}}
	b.source = r.keep(r.bus.NewSource(events.SourceSpec{Layer: name, Type: events.TypeBreaker, Breaker: func() events.BreakerReading {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.reading
	}}))
	return b
}

func (b *fakeBreaker) set(change func(*events.BreakerReading)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.reading)
}

func (r *rig) limiter(name string, reading events.LimiterReading) *events.Source {
	return r.keep(r.bus.NewSource(events.SourceSpec{Layer: name, Type: events.TypeBulkhead,
		Limiter: func() events.LimiterReading { return reading }}))
}

// call publishes an execution with its attempts, as a pipeline does.
func call(bus *events.Bus, s *events.Source, e events.ExecutionFinished, attempts ...events.AttemptFinished) {
	ctx, meta := context.Background(), events.Meta{Source: s}
	var ends events.Ends[events.ExecutionFinished]
	bus.Execution.Begin(ctx, events.ExecutionStarted{Meta: meta}, &ends)
	for _, a := range attempts {
		attempt(bus, s, a)
	}
	e.Meta, e.Attempts = meta, len(attempts)
	ends.Finish(e)
}

func attempt(bus *events.Bus, s *events.Source, a events.AttemptFinished) {
	var ends events.Ends[events.AttemptFinished]
	a.Meta = events.Meta{Source: s}
	bus.Attempt.Begin(context.Background(), events.AttemptStarted{Meta: a.Meta, Kind: a.Kind}, &ends)
	ends.Finish(a)
}

func succeeded(kind events.AttemptKind, d time.Duration) events.AttemptFinished {
	return events.AttemptFinished{Kind: kind, Outcome: events.OutcomeSuccess, Duration: d}
}

func failed(kind events.AttemptKind, d time.Duration, err error) events.AttemptFinished {
	return events.AttemptFinished{Kind: kind, Outcome: events.OutcomeFailure, Duration: d, Err: err}
}
