package otelres_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// rig is a bus with the adapter on it, and what the SDK got.
type rig struct {
	t       *testing.T
	bus     *events.Bus
	spans   *tracetest.SpanRecorder
	reader  *metric.ManualReader
	tracers *sdktrace.TracerProvider
	meters  *metric.MeterProvider
	detach  func()
	calls   uint64
	kept    []*events.Source // the bus holds sources weakly
}

func newRig(t *testing.T, configure ...func(*otelres.Config)) *rig {
	t.Helper()
	r := &rig{t: t, bus: events.NewBus(), spans: tracetest.NewSpanRecorder(), reader: metric.NewManualReader()}
	r.tracers = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.spans))
	r.meters = metric.NewMeterProvider(metric.WithReader(r.reader))
	cfg := otelres.Config{TracerProvider: r.tracers, MeterProvider: r.meters}
	for _, c := range configure {
		c(&cfg)
	}
	r.detach = otelres.MustAttach(r.bus, cfg)
	t.Cleanup(func() {
		r.detach()
		runtime.KeepAlive(r)
	})
	return r
}

// pipeline makes the source of a pipeline with layers of these types, each named for its type.
func (r *rig) pipeline(name string, layers ...string) *events.Source {
	return r.source(pipelineSpec(name, layers...))
}

// source makes a source that lives as long as the rig, unless it is removed.
func (r *rig) source(spec events.SourceSpec) *events.Source {
	s := r.bus.NewSource(spec)
	r.kept = append(r.kept, s)
	return s
}

func pipelineSpec(name string, layers ...string) events.SourceSpec {
	spec := events.SourceSpec{Pipeline: name, Type: events.TypePipeline}
	for i, typ := range layers {
		spec.Layers = append(spec.Layers, events.SourceSpec{Pipeline: name, Layer: typ, Type: typ, Position: i})
	}
	return spec
}

// breaker makes the source of a shared breaker whose state is what read returns.
func (r *rig) breaker(name string, read func() events.BreakerReading) *events.Source {
	return r.source(events.SourceSpec{Layer: name, Type: events.TypeBreaker, Breaker: read})
}

// execution publishes an execution around body, as a pipeline does.
func (r *rig) execution(ctx context.Context, s *events.Source, end events.ExecutionFinished, body func(context.Context)) {
	r.calls++
	meta := events.Meta{Source: s, Execution: r.calls, Nested: events.Nested(ctx)}
	end.Meta = meta
	var ends events.Ends[events.ExecutionFinished]
	defer func() { ends.Finish(end) }()
	ctx = r.bus.Execution.Begin(ctx, events.ExecutionStarted{Meta: meta}, &ends)
	if body != nil {
		body(ctx)
	}
}

// attempt publishes an attempt around body. Its kind follows from its number, unless end has one.
func (r *rig) attempt(ctx context.Context, s *events.Source, number int, delay time.Duration, end events.AttemptFinished, body func(context.Context)) {
	meta := events.Meta{Source: s, Execution: r.calls, Attempt: number, Nested: events.Nested(ctx)}
	kind := end.Kind
	switch {
	case kind != 0:
	case number > 1:
		kind = events.AttemptRetry
	default:
		kind = events.AttemptInitial
	}
	end.Meta, end.Kind = meta, kind
	var ends events.Ends[events.AttemptFinished]
	defer func() { ends.Finish(end) }()
	ctx = r.bus.Attempt.Begin(ctx, events.AttemptStarted{Meta: meta, Kind: kind, Delay: delay}, &ends)
	if body != nil {
		body(ctx)
	}
}

// succeed publishes a call that succeeds at its first attempt.
func (r *rig) succeed(ctx context.Context, s *events.Source) {
	r.execution(ctx, s, events.ExecutionFinished{Outcome: events.OutcomeSuccess, Attempts: 1}, func(ctx context.Context) {
		r.attempt(ctx, s, 1, 0, events.AttemptFinished{Outcome: events.OutcomeSuccess}, nil)
	})
}

// layer returns a pipeline's layer of a type.
func layer(s *events.Source, typ string) *events.Source {
	for _, l := range s.Layers() {
		if l.Type() == typ {
			return l
		}
	}
	panic("no layer " + typ)
}

// ended returns the ended span of that name; there must be exactly one.
func (r *rig) ended(name string) sdktrace.ReadOnlySpan {
	r.t.Helper()
	var found []sdktrace.ReadOnlySpan
	for _, s := range r.spans.Ended() {
		if s.Name() == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		r.t.Fatalf("%d spans are named %q, want 1; all: %v", len(found), name, names(r.spans.Ended()))
	}
	return found[0]
}

func names(spans []sdktrace.ReadOnlySpan) (all []string) {
	for _, s := range spans {
		all = append(all, s.Name())
	}
	return all
}

func spanID(ctx context.Context) trace.SpanID { return trace.SpanContextFromContext(ctx).SpanID() }

// collect reads all metrics by name.
func (r *rig) collect() map[string]metricdata.Metrics {
	r.t.Helper()
	return collect(r.t, r.reader)
}

func collect(t *testing.T, reader *metric.ManualReader) map[string]metricdata.Metrics {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &data); err != nil {
		t.Fatalf("collect: %v", err)
	}
	all := map[string]metricdata.Metrics{}
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			all[m.Name] = m
		}
	}
	return all
}

// value returns the value of the series of a metric whose attributes are exactly these (key, value, key, value ...);
// for a histogram the count. The series must exist.
func (r *rig) value(name string, attributes ...string) float64 {
	r.t.Helper()
	v, ok := seriesOf(r.collect()[name])[setOf(attributes...)]
	if !ok {
		r.t.Fatalf("%s has no series %v; it has %v", name, attributes, seriesOf(r.collect()[name]))
	}
	return v
}

// seriesOf returns a metric's values by their attributes as text.
func seriesOf(m metricdata.Metrics) map[string]float64 {
	all := map[string]float64{}
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			all[text(p.Attributes)] = float64(p.Value)
		}
	case metricdata.Sum[float64]:
		for _, p := range d.DataPoints {
			all[text(p.Attributes)] = p.Value
		}
	case metricdata.Gauge[int64]:
		for _, p := range d.DataPoints {
			all[text(p.Attributes)] = float64(p.Value)
		}
	case metricdata.Gauge[float64]:
		for _, p := range d.DataPoints {
			all[text(p.Attributes)] = p.Value
		}
	case metricdata.Histogram[int64]:
		for _, p := range d.DataPoints {
			all[text(p.Attributes)] = float64(p.Count)
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			all[text(p.Attributes)] = float64(p.Count)
		}
	}
	return all
}

func setOf(attributes ...string) string {
	var all []attribute.KeyValue
	for i := 0; i < len(attributes); i += 2 {
		all = append(all, attribute.String(attributes[i], attributes[i+1]))
	}
	return text(attribute.NewSet(all...))
}

func text(s attribute.Set) string { return s.Encoded(attribute.DefaultEncoder()) }

// attributesOf returns a span's attributes as text by key.
func attributesOf(s sdktrace.ReadOnlySpan) map[string]string {
	all := map[string]string{}
	for _, a := range s.Attributes() {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}
