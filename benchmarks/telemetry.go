package main

import (
	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// observed is a bus of which every call becomes spans and metrics, with the OpenTelemetry SDK: every span is recorded, and
// dropped where it would be exported.
func observed() *events.Bus {
	bus := events.NewBus()
	otelres.MustAttach(bus, otelres.Config{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample())),
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
	})
	return bus
}
