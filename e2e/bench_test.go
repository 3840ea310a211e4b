package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/promres"
	"github.com/telltale-go/telltale/resilience"
)

// BenchmarkObserved is a successful call of the canonical pipeline with adapters attached. Compare "spans and metrics" with
// otelres's BenchmarkBare/both, which makes the same telemetry calls by hand.
func BenchmarkObserved(b *testing.B) {
	spans := func() *sdktrace.TracerProvider { return sdktrace.NewTracerProvider() }
	meters := func() *sdkmetric.MeterProvider {
		return sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	}
	prom := func(bus *events.Bus) { promres.MustAttach(bus, promres.Config{Registerer: prometheus.NewRegistry()}) }
	for _, bench := range []struct {
		name   string
		attach func(*events.Bus)
	}{
		{"nobody", func(*events.Bus) {}},
		{"Prometheus", prom},
		{"Prometheus with exemplars, none sampled", func(bus *events.Bus) {
			promres.MustAttach(bus, promres.Config{Registerer: prometheus.NewRegistry(), Trace: otelres.SampledTraceIDs})
		}},
		{"OpenTelemetry metrics", func(bus *events.Bus) {
			otelres.MustAttach(bus, otelres.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: meters()})
		}},
		{"no-op providers", func(bus *events.Bus) {
			otelres.MustAttach(bus, otelres.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()})
		}},
		{"spans", func(bus *events.Bus) {
			otelres.MustAttach(bus, otelres.Config{TracerProvider: spans(), MeterProvider: metricnoop.NewMeterProvider()})
		}},
		{"spans and metrics", func(bus *events.Bus) {
			otelres.MustAttach(bus, otelres.Config{TracerProvider: spans(), MeterProvider: meters()})
		}},
		{"spans, metrics, Prometheus", func(bus *events.Bus) {
			otelres.MustAttach(bus, otelres.Config{TracerProvider: spans(), MeterProvider: meters()})
			prom(bus)
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			bus := events.NewBus()
			bench.attach(bus)
			p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "users.get", Bus: bus, Layers: []resilience.Layer{
				resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", Bus: bus}),
				resilience.Timeout{After: 2 * time.Second},
				resilience.Retry{},
				resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureRatio: 0.5, Bus: bus}),
				resilience.Timeout{Name: "each", After: 500 * time.Millisecond},
			}})
			ctx := context.Background()
			op := func(context.Context) (int, error) { return 1, nil }
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Do(ctx, op); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
