package otelres_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/resilience"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// In main one line is all: defer otelres.MustAttach(events.Default(), otelres.Config{})(). Here the providers and the bus
// are the example's own.
func ExampleAttach() {
	spans := tracetest.NewInMemoryExporter()
	bus := events.NewBus()
	detach, err := otelres.Attach(bus, otelres.Config{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
		MeterProvider:  sdkmetric.NewMeterProvider(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer detach()

	users := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "users.get", Bus: bus,
		Layers: []resilience.Layer{resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay}},
	})
	_, _ = users.Do(context.Background(), func(ctx context.Context) (string, error) {
		if resilience.AttemptNumber(ctx) == 1 {
			return "", errors.New("not yet")
		}
		return "ada", nil
	})

	for _, s := range spans.GetSpans() {
		fmt.Println(s.Name, s.Status.Code)
	}
	// Output:
	// users.get attempt Error
	// users.get attempt Unset
	// users.get Unset
}
