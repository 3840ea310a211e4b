package otelres_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// BUS-08, OTEL-01: every span that starts is ended once and every call is counted once, whatever the operations do, while
// the SDK collects, sources come and go, and another adapter is attached and detached.
func TestEverythingAtOnce(t *testing.T) {
	r := newRig(t)
	users := r.pipeline("users.get", events.TypeRetry, events.TypeTimeout)
	const callers, calls = 8, 50
	var callersDone, rest sync.WaitGroup
	var done atomic.Bool
	for c := range callers {
		callersDone.Go(func() {
			for i := range calls {
				var one sync.WaitGroup
				one.Go(func() { unruly(r, users, c+i) })
				one.Wait()
			}
		})
	}
	until := func(f func()) {
		rest.Go(func() {
			for {
				f() // at least once, however late the goroutine comes to run
				if done.Load() {
					return
				}
				runtime.Gosched()
			}
		})
	}
	until(func() { r.collect() })
	until(func() {
		s := r.bus.NewSource(pipelineSpec("fleeting", events.TypeRetry))
		b := r.bus.NewSource(events.SourceSpec{Layer: "fleeting-db", Type: events.TypeBreaker,
			Breaker: func() events.BreakerReading { return events.BreakerReading{State: events.StateOpen} }})
		observedCall(r.bus, s)
		r.bus.Remove(s)
		r.bus.Remove(b)
	})
	others := tracetest.NewSpanRecorder()
	until(func() {
		detach := otelres.MustAttach(r.bus, otelres.Config{
			TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(others)),
			MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
		})
		observedCall(r.bus, users)
		var both sync.WaitGroup
		both.Go(detach)
		both.Go(detach)
		both.Wait()
	})
	callersDone.Wait()
	done.Store(true)
	rest.Wait()

	for name, spans := range map[string]*tracetest.SpanRecorder{"adapter": r.spans, "fleeting adapters": others} {
		if started, ended := len(spans.Started()), len(spans.Ended()); started != ended || started == 0 {
			t.Errorf("%s: %d spans started, %d ended", name, started, ended)
		}
	}
	if got := r.value("resilience.execution.active", "resilience.pipeline.name", "users.get"); got != 0 {
		t.Errorf("active = %v at the end, want 0", got)
	}
	got := r.value("resilience.executions", "resilience.pipeline.name", "users.get", "resilience.outcome", "failure")
	if got != callers*calls {
		t.Errorf("executions = %v, want %d", got, callers*calls)
	}
	attempts := seriesOf(r.collect()["resilience.attempts"])[setOf("resilience.pipeline.name", "users.get",
		"resilience.attempt.kind", "initial", "resilience.outcome", "failure")]
	if attempts != callers*calls {
		t.Errorf("attempts = %v, want %d", attempts, callers*calls)
	}
}

// unruly is a call whose operation returns, panics, ends its goroutine or loses its caller.
func unruly(r *rig, s *events.Source, i int) {
	defer func() { _ = recover() }()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	meta := events.Meta{Source: s, Attempt: 1}
	var ends events.Ends[events.ExecutionFinished]
	defer func() {
		ends.Finish(events.ExecutionFinished{Meta: meta, Outcome: events.OutcomeFailure, Err: errDown, Attempts: 1})
	}()
	ctx = r.bus.Execution.Begin(ctx, events.ExecutionStarted{Meta: meta}, &ends)
	var attempt events.Ends[events.AttemptFinished]
	defer func() {
		attempt.Finish(events.AttemptFinished{Meta: meta, Kind: events.AttemptInitial, Outcome: events.OutcomeFailure, Err: class([]string{"a", "b", "c"}[i%3])})
	}()
	inside := r.bus.Attempt.Begin(ctx, events.AttemptStarted{Meta: meta, Kind: events.AttemptInitial}, &attempt)
	if spanID(inside) == spanID(ctx) {
		r.t.Error("the attempt has no span of its own")
	}
	r.bus.TimedOut.Publish(ctx, events.TimedOut{Meta: events.Meta{Source: layer(s, events.TypeTimeout)}})
	switch i % 4 {
	case 0:
		panic("down")
	case 1:
		runtime.Goexit()
	case 2:
		cancel()
	}
}
