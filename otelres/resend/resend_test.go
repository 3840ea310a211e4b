package resend_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/otelres/resend"
	"github.com/telltale-go/telltale/resilience"
)

// refused answers no request.
type refused struct{}

func (refused) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("refused") }

// counts makes a call of three attempts whose operation starts the client's span, and others, and returns each span's
// http.request.resend_count, in the order of their ends; "" where it has none.
func counts(t *testing.T, attach bool) (of map[string][]string) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(resend.Processor()), sdktrace.WithSpanProcessor(spans))
	client := &http.Client{Transport: otelhttp.NewTransport(refused{}, otelhttp.WithTracerProvider(provider), otelhttp.WithMeterProvider(noop.NewMeterProvider()))}
	bus := events.NewBus()
	if attach {
		defer otelres.MustAttach(bus, otelres.Config{TracerProvider: provider, MeterProvider: noop.NewMeterProvider()})()
	}
	users := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "users.get", Bus: bus,
		Layers: []resilience.Layer{resilience.Retry{MaxAttempts: 3, Backoff: resilience.NoDelay}}})
	_, _ = users.Do(t.Context(), func(ctx context.Context) (int, error) {
		ctx, own := provider.Tracer("program").Start(ctx, "own")
		defer own.End()
		_, query := provider.Tracer("sql").Start(ctx, "query", trace.WithSpanKind(trace.SpanKindClient))
		query.End()
		_, other := provider.Tracer("other").Start(ctx, "POST", trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(attribute.String("http.request.method", "POST")))
		other.End()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://users.internal/1", nil)
		if err != nil {
			return 0, err
		}
		response, err := client.Do(request)
		if err == nil {
			err = response.Body.Close()
		}
		return 0, err
	})
	of = map[string][]string{}
	for _, s := range spans.Ended() {
		count := ""
		for _, a := range s.Attributes() {
			if a.Key == "http.request.resend_count" {
				count = a.Value.String()
			}
		}
		of[s.Name()] = append(of[s.Name()], count)
	}
	if err := errors.Join(provider.ForceFlush(t.Context()), provider.Shutdown(t.Context())); err != nil {
		t.Error(err)
	}
	return of
}

// TELEMETRY: the client's span of a repeated request says how often it was sent before; no other span does.
func TestRepeatedRequestsAreNumberedOnTheClientsSpan(t *testing.T) {
	for _, attached := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			got := counts(t, attached)
			want := map[string][]string{"HTTP GET": {"", "1", "2"}, "POST": {"", "1", "2"}, "own": {"", "", ""}, "query": {"", "", ""}}
			if attached {
				want["users.get"], want["users.get attempt"] = []string{""}, []string{"", "", ""}
			}
			if len(got) != len(want) {
				t.Errorf("attached %v: spans %v", attached, got)
			}
			for name, counts := range want {
				if !slices.Equal(got[name], counts) {
					t.Errorf("attached %v: %s has the counts %q, want %q", attached, name, got[name], counts)
				}
			}
		})
	}
}

func TestOutsideOfAPipelineNothingIsNumbered(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(resend.Processor()), sdktrace.WithSpanProcessor(spans))
	_, s := provider.Tracer("client").Start(context.Background(), "GET", trace.WithSpanKind(trace.SpanKindClient))
	s.End()
	if got := spans.Ended()[0].Attributes(); len(got) != 0 {
		t.Errorf("attributes %v, want none", got)
	}
}
