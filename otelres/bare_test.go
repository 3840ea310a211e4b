package otelres_test

import (
	"context"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// bareCall makes by hand the spans that the adapter makes of a call that succeeds at its first attempt, and records its
// metrics to m, if there is one.
func bareCall(tracer trace.Tracer, m *bareMetrics) {
	ctx, execution := tracer.Start(context.Background(), "users.get", trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(attribute.String("resilience.pipeline.name", "users.get")))
	inside, attempt := tracer.Start(ctx, "users.get attempt", trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(attribute.String("resilience.attempt.kind", "initial"), attribute.Int("resilience.attempt.number", 1)))
	attempt.SetAttributes(attribute.String("resilience.outcome", "success"))
	m.attempt(inside)
	attempt.End()
	execution.SetAttributes(attribute.String("resilience.outcome", "success"), attribute.Int("resilience.execution.attempts", 1))
	m.execution(ctx)
	execution.End()
}

// bareMetrics records by hand what the adapter records of such a call.
type bareMetrics struct {
	executions, attempts      metric.Int64Counter
	duration, attemptDuration metric.Float64Histogram
	taken                     metric.Int64Histogram
	byOutcome, byKind         []metric.AddOption
	record                    []metric.RecordOption
}

func newBareMetrics(m metric.Meter) *bareMetrics {
	b := new(bareMetrics)
	b.executions, _ = m.Int64Counter("executions")
	b.attempts, _ = m.Int64Counter("attempts")
	b.duration, _ = m.Float64Histogram("duration", metric.WithExplicitBucketBoundaries(.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30))
	b.attemptDuration, _ = m.Float64Histogram("attempt.duration", metric.WithExplicitBucketBoundaries(.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30))
	b.taken, _ = m.Int64Histogram("taken", metric.WithExplicitBucketBoundaries(0, 1, 2, 3, 5))
	name, outcome := attribute.String("resilience.pipeline.name", "users.get"), attribute.String("resilience.outcome", "success")
	o := metric.WithAttributeSet(attribute.NewSet(name, outcome))
	k := metric.WithAttributeSet(attribute.NewSet(name, outcome, attribute.String("resilience.attempt.kind", "initial")))
	b.byOutcome, b.byKind, b.record = []metric.AddOption{o}, []metric.AddOption{k}, []metric.RecordOption{o}
	return b
}

func (b *bareMetrics) attempt(ctx context.Context) {
	if b != nil {
		b.attempts.Add(ctx, 1, b.byKind...)
		b.attemptDuration.Record(ctx, 0.001, b.record...)
	}
}

func (b *bareMetrics) execution(ctx context.Context) {
	if b != nil {
		b.executions.Add(ctx, 1, b.byOutcome...)
		b.duration.Record(ctx, 0.001, b.record...)
		b.taken.Record(ctx, 1, b.record...)
	}
}

func BenchmarkBare(b *testing.B) {
	tracer := sdktrace.NewTracerProvider().Tracer("bare")
	m := newBareMetrics(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())).Meter("bare"))
	b.Run("spans", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			bareCall(tracer, nil)
		}
	})
	b.Run("metrics", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.attempt(context.Background())
			m.execution(context.Background())
		}
	})
	b.Run("both", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			bareCall(tracer, m)
		}
	})
}

func BenchmarkAdapter(b *testing.B) {
	sampled, meters := sdktrace.NewTracerProvider(), sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	for _, bench := range []struct {
		name string
		cfg  otelres.Config
	}{
		{"spans", otelres.Config{TracerProvider: sampled, MeterProvider: metricnoop.NewMeterProvider()}},
		{"metrics", otelres.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: meters}},
		{"both", otelres.Config{TracerProvider: sampled, MeterProvider: meters}},
		{"unsampled", otelres.Config{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())), MeterProvider: meters}},
		{"globals without an SDK", otelres.Config{}},
		{"no-op", otelres.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			bus := events.NewBus()
			defer otelres.MustAttach(bus, bench.cfg)()
			s := bus.NewSource(pipelineSpec("users.get", events.TypeRetry))
			for b.Loop() {
				observedCall(bus, s)
			}
		})
	}
}
