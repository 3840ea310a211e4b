package e2e

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/resilience"
)

// OTEL-01 OTEL-04: who reads a trace can tell why the call took as long as it did: what its attempts took, its backoff, its
// queues and the latency that was injected are the whole of it.
func TestATraceTellsWhereTheTimeWent(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			bus, spans := events.NewBus(), tracetest.NewSpanRecorder()
			defer otelres.MustAttach(bus, otelres.Config{MeterProvider: noop.NewMeterProvider(),
				TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))})()
			p := waiting(bus, seed)
			run(rand.New(rand.NewPCG(seed, 3)), []*resilience.Pipeline[int]{p})
			told := map[string]int{}
			for _, s := range spans.Ended() {
				if !s.Parent().IsValid() {
					explained(t, s, spans.Ended(), told)
				}
			}
			for _, part := range []string{"attempts", "backoff", "queue", "fault"} {
				if told[part] == 0 {
					t.Errorf("seed %d: no call spent time on %s: the test proves too little", seed, part)
				}
			}
			time.Sleep(time.Minute) // whoever waits leaves the bubble
			runtime.KeepAlive(p)
		})
	}
}

// waiting is a pipeline in which calls wait for everything that they can wait for, one thing at a time.
func waiting(bus *events.Bus, seed uint64) *resilience.Pipeline[int] {
	return resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus, Layers: []resilience.Layer{
		resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", MaxConcurrent: 2, MaxQueue: 5, MaxWait: time.Second, Bus: bus}),
		resilience.Timeout{Name: "total", After: 2 * time.Second},
		resilience.Retry{Backoff: resilience.Exponential{Base: 20 * time.Millisecond}},
		resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "quota", Rate: 8, Burst: 1, MaxWait: time.Second, Bus: bus}),
		resilience.MustChaos(resilience.ChaosConfig{Name: "drill", Enabled: true, Rate: 0.3, Latency: 70 * time.Millisecond, Seed: seed + 1, Bus: bus}),
		resilience.Timeout{Name: "each", After: 100 * time.Millisecond},
	}})
}

// explained adds up what a call's trace tells, which must be what the call took.
func explained(t *testing.T, call sdktrace.ReadOnlySpan, all []sdktrace.ReadOnlySpan, told map[string]int) {
	t.Helper()
	var sum time.Duration
	add := func(part string, d time.Duration) {
		sum += d
		if d > 0 {
			told[part]++
		}
	}
	for _, s := range all {
		if s.Parent().SpanID() == call.SpanContext().SpanID() && s.SpanKind() == trace.SpanKindInternal {
			add("attempts", s.EndTime().Sub(s.StartTime()))
		}
	}
	for _, a := range call.Attributes() {
		switch a.Key {
		case "resilience.execution.backoff_s":
			add("backoff", seconds(a.Value.AsFloat64()))
		case "resilience.execution.queued_s":
			add("queue", seconds(a.Value.AsFloat64()))
		}
	}
	for _, e := range call.Events() {
		for _, a := range e.Attributes {
			if a.Key == "resilience.chaos.delay_s" {
				add("fault", seconds(a.Value.AsFloat64()))
			}
		}
	}
	if took := call.EndTime().Sub(call.StartTime()); (took - sum).Abs() > time.Microsecond {
		t.Errorf("a call took %v, and its trace tells of %v: %v %+v", took, sum, call.Attributes(), call.Events())
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
