package collector

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/resilience"
)

// refusedByPeer is the error of a dependency.
type refusedByPeer struct{}

func (refusedByPeer) Error() string     { return "come back later" }
func (refusedByPeer) ErrorType() string { return "come_back_later" }

// exporters send to a Collector over one of OTLP's transports.
func exporters(t *testing.T, r *running, transport string) (spans sdktrace.SpanExporter, metrics sdkmetric.Exporter) {
	t.Helper()
	var err, err2 error
	switch ctx := t.Context(); transport {
	case "grpc":
		spans, err = otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(r.grpc), otlptracegrpc.WithInsecure())
		metrics, err2 = otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpoint(r.grpc), otlpmetricgrpc.WithInsecure())
	case "http":
		spans, err = otlptracehttp.New(ctx, otlptracehttp.WithEndpoint(r.http), otlptracehttp.WithInsecure())
		metrics, err2 = otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpoint(r.http), otlpmetrichttp.WithInsecure())
	}
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return spans, metrics
}

// service makes calls that end in every way, each with a span of its own within an attempt.
type service struct {
	bus    *events.Bus
	tracer trace.Tracer
	all    []*resilience.Pipeline[string] // those that were dropped would take their series along
}

func (s *service) pipeline(name string, layers ...resilience.Layer) *resilience.Pipeline[string] {
	p := resilience.MustPipeline(resilience.PipelineConfig[string]{Name: name, Bus: s.bus, Layers: layers})
	s.all = append(s.all, p)
	return p
}

// query is the operation: what it does shows as a child of its attempt.
func (s *service) query(do func(ctx context.Context) (string, error)) resilience.Operation[string] {
	return func(ctx context.Context) (string, error) {
		ctx, span := s.tracer.Start(ctx, "SELECT")
		defer span.End()
		return do(ctx)
	}
}

func (s *service) run() {
	ctx := context.Background()
	retry := resilience.Retry{Backoff: resilience.Constant(time.Millisecond)}
	runs := 0
	_, _ = s.pipeline("healed", retry).Do(ctx, s.query(func(context.Context) (string, error) {
		if runs++; runs < 3 {
			return "", refusedByPeer{}
		}
		return "ok", nil
	}))

	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 2, Bus: s.bus})
	tripping := s.pipeline("tripping", retry, db)
	_, _ = tripping.Do(ctx, s.query(func(context.Context) (string, error) { return "", refusedByPeer{} }))
	_, _ = tripping.Do(ctx, s.query(func(context.Context) (string, error) { return "never runs", nil }))

	_, _ = s.pipeline("hanging", resilience.Timeout{After: time.Millisecond}).Do(ctx, s.query(untilDone))

	hedged := s.pipeline("hedged", resilience.Hedge{Delay: time.Millisecond})
	_, _ = hedged.Do(ctx, s.query(func(ctx context.Context) (string, error) {
		if resilience.AttemptNumber(ctx) == 1 {
			return untilDone(ctx)
		}
		return "ok", nil
	}))
	_ = hedged.Close(ctx) // it waits for the run that lost

	s.join(s.pipeline("joined", resilience.MustSingleflight(resilience.SingleflightConfig{})))

	_, _ = s.pipeline("substituted", resilience.FallbackValue("substitute")).Do(ctx, s.query(func(context.Context) (string, error) {
		return "", refusedByPeer{}
	}))

	leaving, leave := context.WithCancel(ctx)
	_, _ = s.pipeline("left").Do(leaving, s.query(func(ctx context.Context) (string, error) {
		leave()
		return untilDone(ctx)
	}))
}

// join makes two calls of one key: the second comes while the first runs.
func (s *service) join(p *resilience.Pipeline[string]) {
	leads, follows := make(chan struct{}), make(chan struct{})
	defer s.bus.FlightJoined.Subscribe(func(_ context.Context, e events.FlightJoined) {
		if e.Role == events.FlightFollower {
			close(follows)
		}
	})()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = p.DoKey(context.Background(), "key", s.query(func(context.Context) (string, error) {
			close(leads)
			<-follows
			return "ok", nil
		}))
	})
	<-leads
	both.Go(func() {
		_, _ = p.DoKey(context.Background(), "key", func(context.Context) (string, error) { return "never runs", nil })
	})
	both.Wait()
}

func untilDone(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

const wantTree = `healed [attempts=3 outcome=success]
  * resilience.retry.scheduled [error=come_back_later layer=retry number=1]
  * resilience.retry.scheduled [error=come_back_later layer=retry number=2]
  healed attempt ERROR [error=come_back_later kind=initial number=1 outcome=failure]
    SELECT
  healed attempt ERROR [error=come_back_later kind=retry number=2 outcome=failure]
    SELECT
  healed attempt [kind=retry number=3 outcome=success]
    SELECT
tripping ERROR [attempts=2 error=breaker_open layer=db outcome=rejected reason=open]
  * resilience.retry.scheduled [error=come_back_later layer=retry number=1]
  * resilience.circuit_breaker.state_changed [layer=db reason=consecutive]
  * resilience.retry.scheduled [error=come_back_later layer=retry number=2]
  * resilience.call.rejected [layer=db reason=open]
  * resilience.retry.stopped [error=breaker_open layer=retry reason=exhausted]
  tripping attempt ERROR [error=come_back_later kind=initial number=1 outcome=failure]
    SELECT
  tripping attempt ERROR [error=come_back_later kind=retry number=2 outcome=failure]
    SELECT
tripping ERROR [attempts=0 error=breaker_open layer=db outcome=rejected reason=open]
  * resilience.call.rejected [layer=db reason=open]
  * resilience.retry.stopped [error=breaker_open layer=retry reason=not_retryable]
hanging ERROR [attempts=1 error=timeout layer=timeout outcome=timeout]
  * resilience.timeout.fired [layer=timeout limit=0.001]
  hanging attempt ERROR [error=timeout kind=initial number=1 outcome=timeout]
    SELECT
hedged [attempts=2 outcome=success]
  hedged attempt [kind=initial number=1 outcome=canceled]
    SELECT
  hedged attempt [kind=hedge number=2 outcome=success]
    SELECT
joined [attempts=1 outcome=success role=leader]
  joined attempt [kind=initial number=1 outcome=success]
    SELECT
joined [attempts=0 outcome=success role=follower] -> joined
substituted [attempts=1 layer=fallback outcome=fallback]
  * resilience.fallback.used [error=come_back_later layer=fallback outcome=fallback]
  substituted attempt ERROR [error=come_back_later kind=initial number=1 outcome=failure]
    SELECT
left [attempts=1 outcome=canceled]
  left attempt [kind=initial number=1 outcome=canceled]
    SELECT
`

// wantMetrics are the sums of counters that are not 0, by the attributes named.
var wantMetrics = map[string]map[string]float64{
	"resilience.executions by resilience.outcome":                   {"success": 4, "fallback": 1, "rejected": 2, "timeout": 1, "canceled": 1},
	"resilience.attempts by resilience.attempt.kind":                {"initial": 7, "retry": 3, "hedge": 1},
	"resilience.rejections by resilience.reason":                    {"open": 2},
	"resilience.attempt.failures by error.type":                     {"come_back_later": 5, "timeout": 1},
	"resilience.hedge.wins by resilience.pipeline.name":             {"hedged": 1},
	"resilience.singleflight.calls by resilience.singleflight.role": {"leader": 1, "follower": 1},
	"resilience.fallbacks by resilience.outcome":                    {"fallback": 1},
	"resilience.timeouts by resilience.layer.name":                  {"timeout": 1},
}

// OTEL-01 OTEL-02 OTEL-04
func TestCollectorReceivesWholeTraces(t *testing.T) {
	for _, transport := range []string{"grpc", "http"} {
		r := start(t)
		spans, metrics := exporters(t, r, transport)
		tracing := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans))
		metering := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics)))
		bus := events.NewBus()
		detach := otelres.MustAttach(bus, otelres.Config{TracerProvider: tracing, MeterProvider: metering})
		s := &service{bus: bus, tracer: tracing.Tracer("service")}
		s.run()
		if err := errors.Join(tracing.Shutdown(t.Context()), metering.Shutdown(t.Context())); err != nil {
			t.Fatal(err)
		}
		runtime.KeepAlive(s)
		detach()
		r.stop(t)
		if got := tree(r.spans()); got != wantTree {
			t.Errorf("over %s: got\n%s\nwant\n%s", transport, got, wantTree)
		}
		for what, want := range wantMetrics {
			name, by, _ := strings.Cut(what, " by ")
			if got := sums(r.metric(t, name), by); !maps.Equal(got, want) {
				t.Errorf("over %s: %s: got %v, want %v", transport, what, got, want)
			}
		}
	}
}
