package e2e

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/promres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/slogres"
)

// backend is one that takes nothing until it is opened: an exporter of spans and one of metrics, a reader of a scrape, a
// collector of somebody else's in the same registry, and a log handler.
type backend struct{ opens chan struct{} }

func (b backend) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { <-b.opens; return nil }
func (b backend) Export(context.Context, *metricdata.ResourceMetrics) error  { <-b.opens; return nil }
func (b backend) Shutdown(context.Context) error                             { return nil }
func (b backend) ForceFlush(context.Context) error                           { return nil }
func (b backend) Describe(chan<- *prometheus.Desc)                           {}
func (b backend) Collect(chan<- prometheus.Metric)                           { <-b.opens }
func (b backend) Header() http.Header                                        { return http.Header{} }
func (b backend) Write(p []byte) (int, error)                                { <-b.opens; return len(p), nil }
func (b backend) WriteHeader(int)                                            {}

func (b backend) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

func (b backend) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

// BUS-06 and decision 23: a backend that blocks delays no call, and no count is lost: promres and otelres need no buffer of
// their own for it. slogres, which writes to its backend itself, has one.
func TestABackendThatBlocksDelaysNoCall(t *testing.T) {
	const calls = 5000
	synctest.Test(t, func(t *testing.T) {
		bus, b, reader, registry := events.NewBus(), backend{make(chan struct{})}, sdkmetric.NewManualReader(), prometheus.NewRegistry()
		tracing := sdktrace.NewTracerProvider(sdktrace.WithBatcher(b, sdktrace.WithBatchTimeout(time.Second)))
		metering := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader),
			sdkmetric.WithReader(sdkmetric.NewPeriodicReader(b, sdkmetric.WithInterval(time.Second))))
		registry.MustRegister(b)
		for _, detach := range []func(){
			otelres.MustAttach(bus, otelres.Config{TracerProvider: tracing, MeterProvider: metering}),
			promres.MustAttach(bus, promres.Config{Registerer: registry}),
			slogres.MustAttach(bus, slogres.Config{Handler: slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}), Buffered: 10}),
		} {
			defer detach()
		}
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus, Layers: []resilience.Layer{
			resilience.Retry{Backoff: resilience.NoDelay}, resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Bus: bus})}})
		scrape := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
		get := func() *http.Request {
			return httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		}
		fail := func(context.Context) (int, error) { return 0, io.ErrUnexpectedEOF }
		for i := range calls {
			if i%1000 == 500 { // the backends are at work, and hang
				go scrape.ServeHTTP(b, get())
				time.Sleep(2 * time.Second)
			}
			began := time.Now()
			_, _ = p.Do(t.Context(), fail)
			if took := time.Since(began); took != 0 {
				t.Fatalf("call %d took %v", i, took)
			}
		}
		close(b.opens)
		synctest.Wait()
		for _, got := range []float64{counted(t, reader), scraped(t, registry)} {
			if got != calls {
				t.Errorf("%v calls were counted, want %d", got, calls)
			}
		}
		if bus.Dropped() == 0 {
			t.Error("the log lost nothing: its backend did not block")
		}
		if err := errors.Join(tracing.Shutdown(t.Context()), metering.Shutdown(t.Context())); err != nil {
			t.Error(err)
		}
		runtime.KeepAlive(p)
	})
}

func counted(t *testing.T, reader *sdkmetric.ManualReader) (n float64) {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			if m.Name == "resilience.executions" {
				for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
					n += float64(p.Value)
				}
			}
		}
	}
	return n
}

func scraped(t *testing.T, registry *prometheus.Registry) (n float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "resilience_executions_total" {
			for _, m := range f.GetMetric() {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}
