package otelres_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

const executions = "resilience.executions"

var succeeded = setOf("resilience.pipeline.name", "users.get", "resilience.outcome", "success")

// PROM-01: a pipeline that is closed and made again goes on counting, and those of one name count together.
func TestCountsGoOnWhenAPipelineIsMadeAgain(t *testing.T) {
	var duplicates int
	r := newRig(t, func(c *otelres.Config) { c.MeterProvider = uniqueMeters{c.MeterProvider, &duplicates} })
	first, second := r.pipeline("users.get", events.TypeRetry), r.pipeline("users.get", events.TypeTimeout)
	want := 0.0
	for _, s := range []*events.Source{first, second, r.pipeline("users.get")} {
		r.succeed(context.Background(), s)
		want++
		if got := r.value(executions, "resilience.pipeline.name", "users.get", "resilience.outcome", "success"); got != want {
			t.Errorf("executions = %v, want %v", got, want)
		}
		r.bus.Remove(s)
	}
	if duplicates != 0 {
		t.Errorf("%d observations repeat a series of the same collection", duplicates)
	}
}

// exporter notes what a periodic reader sends, as the values of the series of executions that succeeded.
type exporter struct {
	temporality metricdata.Temporality
	sent        []float64
	names       map[string]bool
}

func (e *exporter) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality { return e.temporality }
func (e *exporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}
func (e *exporter) Export(_ context.Context, data *metricdata.ResourceMetrics) error {
	e.names = map[string]bool{}
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			e.names[m.Name] = true
			if m.Name == executions {
				e.sent = append(e.sent, seriesOf(m)[succeeded])
			}
		}
	}
	return nil
}
func (e *exporter) ForceFlush(context.Context) error { return nil }
func (e *exporter) Shutdown(context.Context) error   { return nil }

// PROM-03: main detaches before it shuts the provider down; what was counted since the last collection is sent still, and
// nothing is counted any more.
func TestWhatWasCountedBeforeDetachIsSent(t *testing.T) {
	for _, c := range []struct {
		temporality            metricdata.Temporality
		first, second, flushed float64
	}{
		{metricdata.CumulativeTemporality, 1, 3, 3},
		{metricdata.DeltaTemporality, 1, 2, 0},
	} {
		out := &exporter{temporality: c.temporality}
		meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(out, sdkmetric.WithInterval(time.Hour))))
		r := newRig(t, func(cfg *otelres.Config) { cfg.MeterProvider = meters })
		users := r.pipeline("users.get")
		r.succeed(context.Background(), users)
		if err := meters.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.succeed(context.Background(), users)
		r.succeed(context.Background(), users)
		r.detach()
		r.succeed(context.Background(), users)
		if err := meters.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := meters.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(out.sent) != 3 || out.sent[0] != c.first || out.sent[1] != c.second || out.sent[2] != c.flushed {
			t.Errorf("%v: sent %v, want %v, %v, %v", c.temporality, out.sent, c.first, c.second, c.flushed)
		}
		if out.names["resilience.execution.active"] || out.names["resilience.bus.handler_panics"] {
			t.Errorf("%v: what is read of the bus is still told: %v", c.temporality, out.names)
		}
	}
}

// BUS-10: what a provider goes on telling holds neither the bus nor the adapter, and goes with the provider.
func TestTheCountsHoldNoBus(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	bus, provider := func() (weak.Pointer[events.Bus], weak.Pointer[sdkmetric.MeterProvider]) {
		bus := events.NewBus()
		detach := otelres.MustAttach(bus, otelres.Config{MeterProvider: meters})
		s := bus.NewSource(pipelineSpec("users.get", events.TypeRetry))
		observedCall(bus, s)
		detach()
		return weak.Make(bus), weak.Make(meters)
	}()
	if !collected(func() bool { return bus.Value() == nil }) {
		t.Error("the bus is held")
	}
	if got := seriesOf(collect(t, reader)[executions])[succeeded]; got != 1 {
		t.Errorf("executions = %v, want 1", got)
	}
	runtime.KeepAlive(meters)
	if !collected(func() bool { return provider.Value() == nil }) {
		t.Error("the provider is held")
	}
}

func collected(gone func() bool) bool {
	for range 1000 {
		if gone() {
			return true
		}
		runtime.GC()
		runtime.Gosched()
	}
	return false
}

// Counters have no exemplars: they are read when the SDK collects, when no trace is current.
func TestCountersCarryNoExemplars(t *testing.T) {
	r := newRig(t)
	r.succeed(context.Background(), r.pipeline("users.get", events.TypeRetry))
	for name, m := range r.collect() {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
			for _, p := range sum.DataPoints {
				if len(p.Exemplars) != 0 {
					t.Errorf("%s has exemplars: the documentation says that it has none", name)
				}
			}
		}
	}
}

// Waiting is summed by many at once, exactly, and beyond what a Duration holds.
func TestWaitingIsSummed(t *testing.T) {
	r := newRig(t)
	users := r.pipeline("users.get")
	wait := func(backoff, queued time.Duration) {
		var ends events.Ends[events.ExecutionFinished]
		meta := events.Meta{Source: users}
		r.bus.Execution.Begin(context.Background(), events.ExecutionStarted{Meta: meta}, &ends)
		ends.Finish(events.ExecutionFinished{Meta: meta, Outcome: events.OutcomeSuccess, Backoff: backoff, Queued: queued})
	}
	waited := func(kind string) float64 {
		return r.value("resilience.execution.wait.time", "resilience.pipeline.name", "users.get", "resilience.wait.kind", kind)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				wait(250*time.Millisecond, 0)
			}
		})
	}
	all.Wait()
	if got := waited("backoff"); got != 2000 {
		t.Errorf("backoff = %v s, want 2000", got)
	}
	const longest = time.Duration(1<<63 - 1)
	for i := range 3 {
		wait(-longest, longest)
		wait(0, -time.Second)
		if got, want := waited("queue"), float64(i+1)*longest.Seconds(); got != want {
			t.Errorf("queued = %v s, want %v", got, want)
		}
	}
	if got := waited("backoff"); got != 2000 {
		t.Errorf("backoff = %v s after some below zero, want 2000 still", got)
	}
}
