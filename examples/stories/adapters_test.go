package stories_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/promres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/slogres"
)

// The team of the service writes pipelines; who runs it opts into metrics with one line in main. It may come before or
// after the pipelines are made. With a zero Config the metrics are in Prometheus's default registry.
func Example_prometheusInMain() {
	registry := prometheus.NewRegistry()
	defer promres.MustAttach(events.Default(), promres.Config{Registerer: registry})()

	weather := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "weather.get", Layers: []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay}},
	})
	_, _ = weather.Do(context.Background(), (&remote{down: 1}).get)

	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
	}
	for _, f := range families {
		if f.GetName() != "resilience_attempts_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if n := m.GetCounter().GetValue(); n > 0 && labels["resilience_pipeline_name"] == "weather.get" {
				fmt.Println(labels["resilience_attempt_kind"], labels["resilience_outcome"], n)
			}
		}
	}
	// Output:
	// initial failure 1
	// retry success 1
}

// The same as spans: one a call, a child for each attempt. With a zero Config they go to OpenTelemetry's global providers.
func Example_openTelemetryInMain() {
	ctx := context.Background()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	defer provider.Shutdown(ctx)
	defer otelres.MustAttach(events.Default(), otelres.Config{TracerProvider: provider})()

	maps := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "maps.get", Layers: []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay}},
	})
	_, _ = maps.Do(ctx, (&remote{down: 1}).get)

	all := spans.GetSpans()
	for _, s := range all {
		fmt.Println(s.Name, s.Status.Code, "child of the call:", s.Parent.SpanID() == all[len(all)-1].SpanContext.SpanID())
	}
	// Output:
	// maps.get attempt Error child of the call: true
	// maps.get attempt Unset child of the call: true
	// maps.get Unset child of the call: false
}

// The same as log records. With a zero Config they go to slog's default handler. A call that a retry healed is no more
// than DEBUG; one that failed is one WARN, whatever its attempts did.
func Example_slogInMain() {
	ctx := context.Background()
	few := map[string]bool{slog.LevelKey: true, slog.MessageKey: true, events.KeyPipelineName: true, events.KeyLayerName: true, events.KeyReason: true}
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if !few[a.Key] {
			return slog.Attr{}
		}
		return a
	}})
	bus := events.NewBus() // of this story alone, since its log is compared; in a service events.Default()
	defer slogres.MustAttach(bus, slogres.Config{Handler: handler})()

	breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "news-api", ConsecutiveFailures: 2, Bus: bus})
	news := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "news.get", Bus: bus, Layers: []resilience.Layer{resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay}, breaker, resilience.Timeout{}},
	})
	_, _ = news.Do(ctx, (&remote{down: 1}).get) // healed
	_, _ = news.Do(ctx, (&remote{down: always}).get)
	// Output:
	// level=WARN msg="circuit breaker opened" resilience.layer.name=news-api resilience.reason=consecutive
	// level=WARN msg="call failed" resilience.pipeline.name=news.get resilience.reason=exhausted resilience.layer.name=retry
}
