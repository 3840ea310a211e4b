package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	endpointVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"
	protocolVariable = "OTEL_EXPORTER_OTLP_PROTOCOL"
	metricsVariable  = "OTEL_METRICS_EXPORTER"
)

var errEnvironment = errors.New("the environment is wrong")

// providers are OpenTelemetry's. Spans always stay in memory, for the tree that the demo prints; when
// OTEL_EXPORTER_OTLP_ENDPOINT is set, they and the metrics are exported there, too; the metrics are not if
// OTEL_METRICS_EXPORTER is none, for a place that takes only traces.
type providers struct {
	traces      trace.TracerProvider
	metrics     metric.MeterProvider
	destination string
	shutdown    func() error
}

func newProviders(ctx context.Context, memory sdktrace.SpanProcessor) (providers, error) {
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attribute.String("service.name", "telltale-demo")),
		resource.WithFromEnv()) // what the environment says wins
	if err != nil {
		return providers{}, fmt.Errorf("opentelemetry: %w", err)
	}
	traceOptions := []sdktrace.TracerProviderOption{sdktrace.WithResource(res), sdktrace.WithSpanProcessor(memory)}
	endpoint := os.Getenv(endpointVariable)
	if endpoint == "" {
		traces := sdktrace.NewTracerProvider(traceOptions...)
		otel.SetTracerProvider(traces) // for otelhttp, which the clients use
		return providers{traces: traces, metrics: noopmetric.NewMeterProvider(), shutdown: withinSeconds(traces.Shutdown),
			destination: "in memory (set " + endpointVariable + " to export them)"}, nil
	}
	spans, points, protocol, err := newExporters(ctx)
	if err != nil {
		return providers{}, fmt.Errorf("opentelemetry: %s=%s: %w", endpointVariable, endpoint, err)
	}
	traces := sdktrace.NewTracerProvider(append(traceOptions, sdktrace.WithBatcher(spans))...)
	otel.SetTracerProvider(traces)
	p := providers{traces: traces, metrics: noopmetric.NewMeterProvider(), shutdown: withinSeconds(traces.Shutdown),
		destination: fmt.Sprintf("exported to %s (%s)", endpoint, protocol)}
	if points != nil {
		metrics := sdkmetric.NewMeterProvider(sdkmetric.WithResource(res),
			sdkmetric.WithReader(sdkmetric.NewPeriodicReader(points, sdkmetric.WithInterval(5*time.Second))))
		otel.SetMeterProvider(metrics)
		p.metrics = metrics
		p.shutdown = func() error {
			return errors.Join(withinSeconds(traces.Shutdown)(), withinSeconds(metrics.Shutdown)())
		}
	}
	return p, nil
}

// newExporters makes OTLP exporters for the protocol that the environment asks for; they read the rest from it themselves.
// That of metrics is nil if the environment wants none.
func newExporters(ctx context.Context) (sdktrace.SpanExporter, sdkmetric.Exporter, string, error) {
	wanted := os.Getenv(metricsVariable)
	if wanted != "" && wanted != "otlp" && wanted != "none" {
		return nil, nil, "", fmt.Errorf("%w: %s=%q: must be otlp or none", errEnvironment, metricsVariable, wanted)
	}
	switch protocol := os.Getenv(protocolVariable); protocol {
	case "", "http/protobuf":
		if endpoint, err := url.Parse(os.Getenv(endpointVariable)); err != nil || endpoint.Host == "" || !strings.HasPrefix(endpoint.Scheme, "http") {
			return nil, nil, "", fmt.Errorf("%w: must be a URL, such as http://127.0.0.1:4318", errEnvironment)
		}
		spans, err := otlptracehttp.New(ctx)
		if err != nil || wanted == "none" {
			return spans, nil, "http/protobuf", err
		}
		points, err := otlpmetrichttp.New(ctx)
		return spans, points, "http/protobuf", err
	case "grpc":
		spans, err := otlptracegrpc.New(ctx)
		if err != nil || wanted == "none" {
			return spans, nil, protocol, err
		}
		points, err := otlpmetricgrpc.New(ctx)
		return spans, points, protocol, err
	default:
		return nil, nil, "", fmt.Errorf("%w: %s=%q: must be http/protobuf or grpc", errEnvironment, protocolVariable, protocol)
	}
}

// withinSeconds bounds a shutdown: an endpoint that does not answer must not keep the demo from ending.
func withinSeconds(shutdown func(context.Context) error) func() error {
	return func() error {
		ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
		defer stop()
		return shutdown(ctx)
	}
}
