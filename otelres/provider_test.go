package otelres_test

import (
	"context"
	"errors"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/resilience"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// unharmed makes calls whose results must be what they are without the adapter.
func unharmed(t *testing.T, bus *events.Bus) {
	t.Helper()
	runs := 0
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus, Layers: []resilience.Layer{
		resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay}}})
	for range 3 {
		if v, err := p.Do(t.Context(), func(context.Context) (int, error) { runs++; return runs, nil }); err != nil || v != runs {
			t.Errorf("a call returned %d, %v, want %d", v, err, runs)
		}
		if _, err := p.Do(t.Context(), func(context.Context) (int, error) { runs++; return 0, errDown }); !errors.Is(err, errDown) {
			t.Errorf("a call returned %v, want its error", err)
		}
	}
	if runs != 9 {
		t.Errorf("the operations ran %d times, want 9", runs)
	}
}

// OTEL-03: a provider that is shut down, before or after, harms no call, and detaching from it works.
func TestAProviderThatIsShutDownHarmsNoCall(t *testing.T) {
	for _, before := range []bool{true, false} {
		bus, tracers := events.NewBus(), sdktrace.NewTracerProvider()
		meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
		shut := func() {
			if err := errors.Join(tracers.Shutdown(t.Context()), meters.Shutdown(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		if before {
			shut()
		}
		detach := otelres.MustAttach(bus, otelres.Config{TracerProvider: tracers, MeterProvider: meters})
		unharmed(t, bus)
		if !before {
			shut()
		}
		unharmed(t, bus)
		if n := bus.HandlerPanics(); n != 0 {
			t.Errorf("%d handlers panicked", n)
		}
		detach()
		if bus.CallsHeard() {
			t.Error("something is left on the bus")
		}
	}
}

// faulty panics whenever it is used.
type (
	faultyTracers   struct{ tracenoop.TracerProvider }
	faultyTracer    struct{ tracenoop.Tracer }
	faultyMeters    struct{ metricnoop.MeterProvider }
	faultyMeter     struct{ metricnoop.Meter }
	faultyHistogram struct{ metricnoop.Int64Histogram }
	faultyEnd       struct{ sdktrace.SpanProcessor }
)

func (faultyTracers) Tracer(string, ...trace.TracerOption) trace.Tracer { return faultyTracer{} }
func (faultyTracer) Start(context.Context, string, ...trace.SpanStartOption) (context.Context, trace.Span) {
	panic("start")
}
func (faultyMeters) Meter(string, ...metric.MeterOption) metric.Meter { return faultyMeter{} }
func (faultyMeter) Int64Histogram(string, ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	return faultyHistogram{}, nil
}
func (faultyHistogram) Record(context.Context, int64, ...metric.RecordOption) { panic("record") }
func (faultyHistogram) Enabled(context.Context) bool                          { return true }
func (faultyEnd) OnStart(context.Context, sdktrace.ReadWriteSpan)             {}
func (faultyEnd) OnEnd(sdktrace.ReadOnlySpan)                                 { panic("end") }

// BUS-05: a provider that panics harms no call; the panics are counted.
func TestAProviderThatPanicsHarmsNoCall(t *testing.T) {
	for name, cfg := range map[string]otelres.Config{
		"tracer": {TracerProvider: faultyTracers{}, MeterProvider: metricnoop.NewMeterProvider()},
		"end of a span": {TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(faultyEnd{})),
			MeterProvider: metricnoop.NewMeterProvider()},
		"histogram": {TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: faultyMeters{}},
	} {
		bus := events.NewBus()
		detach := otelres.MustAttach(bus, cfg)
		unharmed(t, bus)
		if bus.HandlerPanics() == 0 {
			t.Errorf("%s: no panic was counted", name)
		}
		detach()
	}
}
