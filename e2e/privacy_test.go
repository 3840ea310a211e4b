package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/promres"
	"github.com/telltale-go/telltale/slogres"
)

const secret = "ada.lovelace@example.com"

// BUS-12: whatever happens, no adapter exports a call's key, an error's text or what somebody panicked with by default.
func TestNoAdapterExportsWhatMayBePersonal(t *testing.T) {
	bus, reg := events.NewBus(), prometheus.NewRegistry()
	spans, reader := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
	var json, text bytes.Buffer
	all := func(events.Event) bool { return false }
	debug := &slog.HandlerOptions{Level: slog.LevelDebug}
	detach := []func(){
		otelres.MustAttach(bus, otelres.Config{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
			MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))}),
		promres.MustAttach(bus, promres.Config{Registerer: reg, Trace: otelres.SampledTraceIDs}),
		slogres.MustAttach(bus, slogres.Config{Handler: slog.NewJSONHandler(&json, debug), Skip: all, Trace: otelres.TraceIDs}),
		slogres.MustAttach(bus, slogres.Config{Handler: slog.NewTextHandler(&text, debug), Skip: all, Burst: 1}),
	}
	s := newSources(bus)
	for range 3 { // more than a burst of each
		publishSecrets(bus, s)
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	scrape := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil)
	request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(scrape, request)
	runtime.KeepAlive(s)
	for _, d := range detach {
		d()
	}
	outputs := map[string]string{"slogres JSON": json.String(), "slogres text": text.String(), "promres": scrape.Body.String(),
		"otelres metrics": fmt.Sprintf("%+v", data)}
	for _, span := range spans.GetSpans() {
		outputs["otelres spans"] += fmt.Sprintf("%s %+v %+v %+v %+v\n", span.Name, span.Attributes, span.Events, span.Status, span.Links)
	}
	for name, output := range outputs {
		if strings.Contains(output, secret) {
			at := strings.Index(output, secret)
			t.Errorf("%s tells what may be personal: %s", name, output[max(0, at-200):at+len(secret)])
		}
		if len(output) < 1000 {
			t.Errorf("%s has only %d bytes: the test proves nothing", name, len(output))
		}
	}
	for _, k := range events.Catalogue() {
		if !strings.Contains(json.String(), `"event.name":"`+k.Name+`"`) {
			t.Errorf("%s was not published: the test proves too little", k.Name)
		}
	}
	if !strings.Contains(scrape.Body.String(), "trace_id=") {
		t.Error("no exemplar: the test proves too little")
	}
}

// publishSecrets publishes an event of each kind with a secret in everything that may be personal.
func publishSecrets(bus *events.Bus, s *sources) {
	ctx := context.Background()
	var ends events.Ends[events.ExecutionFinished]
	ctx = bus.Execution.Begin(ctx, withSecrets(events.ExecutionStarted{}, s.all), &ends)
	var attempt events.Ends[events.AttemptFinished]
	inside := bus.Attempt.Begin(ctx, withSecrets(events.AttemptStarted{}, s.all), &attempt)
	attempt.Finish(withSecrets(events.AttemptFinished{}, s.all))
	layer := func(typ string) *events.Source {
		for _, l := range s.all.Layers() {
			if l.Type() == typ {
				return l
			}
		}
		panic("no layer " + typ)
	}
	bus.RetryScheduled.Publish(ctx, withSecrets(events.RetryScheduled{}, layer(events.TypeRetry)))
	bus.RetryStopped.Publish(ctx, withSecrets(events.RetryStopped{}, layer(events.TypeRetry)))
	bus.CallRejected.Publish(ctx, withSecrets(events.CallRejected{}, layer(events.TypeBreaker)))
	bus.TimedOut.Publish(ctx, withSecrets(events.TimedOut{}, layer(events.TypeTimeout)))
	bus.LateResult.Publish(ctx, withSecrets(events.LateResult{}, layer(events.TypeTimeout)))
	bus.BreakerStateChanged.Publish(ctx, withSecrets(events.BreakerStateChanged{}, s.breaker))
	bus.HedgeStarted.Publish(ctx, withSecrets(events.HedgeStarted{}, layer(events.TypeHedge)))
	bus.HedgeSettled.Publish(ctx, withSecrets(events.HedgeSettled{}, layer(events.TypeHedge)))
	bus.HedgeDenied.Publish(ctx, withSecrets(events.HedgeDenied{}, layer(events.TypeHedge)))
	bus.FallbackUsed.Publish(ctx, withSecrets(events.FallbackUsed{}, layer(events.TypeFallback)))
	follower := withSecrets(events.FlightJoined{}, layer(events.TypeSingleflight))
	follower.LeaderContext = inside
	bus.FlightJoined.Publish(ctx, follower)
	bus.LimitChanged.Publish(ctx, withSecrets(events.LimitChanged{}, s.limiter))
	bus.KeyEvicted.Publish(ctx, withSecrets(events.KeyEvicted{}, s.breaker))
	bus.ShadowRejected.Publish(ctx, withSecrets(events.ShadowRejected{}, layer(events.TypeBreaker)))
	bus.FaultInjected.Publish(ctx, withSecrets(events.FaultInjected{}, layer(events.TypeChaos)))
	bus.ConfigWarning.Publish(ctx, events.ConfigWarning{Meta: events.Meta{Source: s.all, Key: secret}, Code: "nested_retry", Message: "two retries"})
	bus.DiscardFailed.Publish(ctx, withSecrets(events.DiscardFailed{}, layer(events.TypeRetry)))
	bus.CallbackPanicked.Publish(ctx, withSecrets(events.CallbackPanicked{}, layer(events.TypeRetry)))
	bus.HandlerPanicked.Publish(ctx, withSecrets(events.HandlerPanicked{}, layer(events.TypeRetry)))
	ends.Finish(withSecrets(events.ExecutionFinished{}, s.all))
	bus.Remove(bus.NewSource(events.SourceSpec{Layer: "fleeting", Type: events.TypeBulkhead}))
}

// withSecrets fills an event: a secret for its key, in its errors and in what was panicked with.
func withSecrets[E events.Event](e E, source *events.Source) E {
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Struct:
			f.Set(reflect.ValueOf(events.Meta{Source: source, Key: secret, Execution: 7, Attempt: 2, At: time.Now()}))
		case reflect.Uint8:
			f.SetUint(3)
			if _, role := f.Interface().(events.FlightRole); role {
				f.SetUint(2)
			}
		case reflect.Interface:
			if f.Type() != reflect.TypeFor[context.Context]() {
				f.Set(reflect.ValueOf(fmt.Errorf("user %s: %w", secret, errors.New(secret))))
			}
		case reflect.Int, reflect.Int64:
			f.SetInt(5)
		}
	}
	return e
}
