package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/promres"
)

var observedStack = workload{
	name: "the whole stack, observed",
	doc: "The whole stack, its context not looked at, with what turns its events into telemetry. By hand are the calls of OpenTelemetry and Prometheus alone, " +
		"of the same two spans, five OpenTelemetry and five Prometheus metrics, and no resilience. Telltale's OpenTelemetry counters are read when the SDK " +
		"collects, which costs a call less than to add to them.",
	contestants: []contestant{
		simple("spans and both metrics by hand, no pipeline", floor, bare.call),
		watched("Telltale, spans and both metrics", func(bus *events.Bus) {
			otelres.MustAttach(bus, otelres.Config{TracerProvider: sdktrace.NewTracerProvider(), MeterProvider: meters()})
			promres.MustAttach(bus, promres.Config{Registerer: prometheus.NewRegistry()})
		}, ours),
		simple("OpenTelemetry metrics by hand, no pipeline", floor, func() bool { bare.openTelemetry(background, background); return true }),
		watched("Telltale, OpenTelemetry metrics", func(bus *events.Bus) {
			otelres.MustAttach(bus, otelres.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: meters()})
		}, floor),
		simple("Prometheus metrics by hand, no pipeline", floor, func() bool { bare.prometheus(); return true }),
		watched("Telltale, Prometheus", func(bus *events.Bus) {
			promres.MustAttach(bus, promres.Config{Registerer: prometheus.NewRegistry()})
		}, floor),
		watched("Telltale, providers that do nothing", func(bus *events.Bus) {
			otelres.MustAttach(bus, otelres.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()})
		}, floor),
		watched("Telltale, nobody", func(*events.Bus) {}, floor),
	},
}

func meters() *sdkmetric.MeterProvider {
	return sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
}

func watched(name string, attach func(*events.Bus), r role) contestant {
	return contestant{name, r, func() worker {
		bus := events.NewBus()
		attach(bus)
		return through(bus, wholeStack(bus)...)
	}}
}

var bare = newBareTelemetry()

// bareTelemetry makes the telemetry calls of a call that succeeds at its first attempt.
type bareTelemetry struct {
	tracer                    trace.Tracer
	executions, attempts      metric.Int64Counter
	duration, attemptDuration metric.Float64Histogram
	taken                     metric.Int64Histogram
	add                       []metric.AddOption
	record                    []metric.RecordOption

	counters   [2]prometheus.Counter
	histograms [3]prometheus.Observer
}

func newBareTelemetry() *bareTelemetry {
	m := meters().Meter("benchmark")
	seconds := []float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30}
	h := &bareTelemetry{tracer: sdktrace.NewTracerProvider().Tracer("benchmark")}
	h.executions, _ = m.Int64Counter("executions")
	h.attempts, _ = m.Int64Counter("attempts")
	h.duration, _ = m.Float64Histogram("duration", metric.WithExplicitBucketBoundaries(seconds...))
	h.attemptDuration, _ = m.Float64Histogram("attempt.duration", metric.WithExplicitBucketBoundaries(seconds...))
	h.taken, _ = m.Int64Histogram("taken", metric.WithExplicitBucketBoundaries(0, 1, 2, 3, 5))
	set := metric.WithAttributeSet(attribute.NewSet(attribute.String("pipeline", "benchmark"), attribute.String("outcome", "success")))
	h.add, h.record = []metric.AddOption{set}, []metric.RecordOption{set}
	for i := range h.counters {
		h.counters[i] = prometheus.NewCounter(prometheus.CounterOpts{Name: "c"})
	}
	for i := range h.histograms {
		h.histograms[i] = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "h", Buckets: seconds, NativeHistogramBucketFactor: 1.1})
	}
	return h
}

func (h *bareTelemetry) call() bool {
	ctx, execution := h.tracer.Start(background, "benchmark", trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(attribute.String("pipeline", "benchmark")))
	inside, attempt := h.tracer.Start(ctx, "benchmark attempt", trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(attribute.String("kind", "initial"), attribute.Int("number", 1)))
	v, err := op(inside)
	attempt.SetAttributes(attribute.String("outcome", "success"))
	h.openTelemetry(inside, ctx)
	h.prometheus()
	attempt.End()
	execution.SetAttributes(attribute.String("outcome", "success"), attribute.Int("attempts", 1))
	execution.End()
	return v == answer && err == nil
}

func (h *bareTelemetry) openTelemetry(attempt, execution context.Context) {
	h.attempts.Add(attempt, 1, h.add...)
	h.attemptDuration.Record(attempt, 0.001, h.record...)
	h.executions.Add(execution, 1, h.add...)
	h.duration.Record(execution, 0.001, h.record...)
	h.taken.Record(execution, 1, h.record...)
}

func (h *bareTelemetry) prometheus() {
	for _, c := range h.counters {
		c.Inc()
	}
	for _, o := range h.histograms {
		o.Observe(0.001)
	}
}
