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

// observer is a way to observe a pipeline. allocs is how many allocations a successful call of the canonical pipeline has
// then, the two of its Timeouts included.
type observer struct {
	name   string
	allocs float64
	attach func(*events.Bus)
}

func observers() []observer {
	spans := func() *sdktrace.TracerProvider { return sdktrace.NewTracerProvider() }
	meters := func() *sdkmetric.MeterProvider {
		return sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	}
	prom := func(bus *events.Bus) { promres.MustAttach(bus, promres.Config{Registerer: prometheus.NewRegistry()}) }
	return []observer{
		{"nobody", 2, func(*events.Bus) {}},
		{"Prometheus", 3, prom},
		{"Prometheus with exemplars, none sampled", 3, func(bus *events.Bus) {
			promres.MustAttach(bus, promres.Config{Registerer: prometheus.NewRegistry(), Trace: otelres.SampledTraceIDs})
		}},
		{"OpenTelemetry metrics", 3, func(bus *events.Bus) {
			otelres.MustAttach(bus, otelres.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: meters()})
		}},
		{"no-op providers", 2, func(bus *events.Bus) {
			otelres.MustAttach(bus, otelres.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()})
		}},
		{"spans", 21, func(bus *events.Bus) {
			otelres.MustAttach(bus, otelres.Config{TracerProvider: spans(), MeterProvider: metricnoop.NewMeterProvider()})
		}},
		{"spans and metrics", 21, func(bus *events.Bus) {
			otelres.MustAttach(bus, otelres.Config{TracerProvider: spans(), MeterProvider: meters()})
		}},
		{"spans, metrics, Prometheus", 21, func(bus *events.Bus) {
			otelres.MustAttach(bus, otelres.Config{TracerProvider: spans(), MeterProvider: meters()})
			prom(bus)
		}},
	}
}

// canonical is a pipeline of five layers on a bus that somebody may observe.
func (o observer) canonical() *resilience.Pipeline[int] {
	bus := events.NewBus()
	o.attach(bus)
	return resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "users.get", Bus: bus, Layers: []resilience.Layer{
		resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", Bus: bus}),
		resilience.Timeout{After: 2 * time.Second},
		resilience.Retry{},
		resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureRatio: 0.5, Bus: bus}),
		resilience.Timeout{Name: "each", After: 500 * time.Millisecond},
	}})
}

// BenchmarkObserved is a successful call of the canonical pipeline with adapters attached. Compare "spans and metrics" with
// otelres's BenchmarkBare/both, which makes the same telemetry calls by hand.
func BenchmarkObserved(b *testing.B) {
	op := func(context.Context) (int, error) { return 1, nil }
	for _, o := range observers() {
		b.Run(o.name, func(b *testing.B) {
			p, ctx := o.canonical(), context.Background()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Do(ctx, op); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
