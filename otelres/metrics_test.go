package otelres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// PROM-01: counters over closed attributes and the gauges of a source exist, at zero, before anything happens.
func TestSeriesExistFromTheStart(t *testing.T) {
	r := newRig(t)
	r.pipeline("users.get", events.TypeSingleflight, events.TypeFallback, events.TypeHedge, events.TypeRetry, events.TypeTimeout,
		events.TypeBreaker, events.TypeBulkhead)
	r.breaker("db", func() events.BreakerReading { return events.BreakerReading{State: events.StateClosed} })
	r.source(events.SourceSpec{Layer: "pool", Type: events.TypeBulkhead,
		Limiter: func() events.LimiterReading { return events.LimiterReading{Limit: 10} }})
	all := r.collect()
	outcomes := len(events.Outcomes())
	attempts := len(events.AttemptKinds()) * len(events.AttemptOutcomes())
	for name, want := range map[string]int{
		"resilience.executions":                        outcomes,
		"resilience.execution.active":                  1,
		"resilience.execution.wait.time":               2,
		"resilience.attempts":                          attempts,
		"resilience.retry.stops":                       len(events.StopReasons()),
		"resilience.rejections":                        len(events.RejectionReasons(events.TypeBreaker)) + len(events.RejectionReasons(events.TypeBulkhead)),
		"resilience.timeouts":                          1,
		"resilience.fallbacks":                         2,
		"resilience.hedge.wins":                        1,
		"resilience.hedge.denials":                     1,
		"resilience.singleflight.calls":                len(events.FlightRoles()),
		"resilience.bus.dropped_events":                2, // of the outboxes, and of otelres itself
		"resilience.bus.handler_panics":                2,
		"resilience.circuit_breaker.state":             len(events.States()),
		"resilience.circuit_breaker.state.time":        len(events.States()),
		"resilience.circuit_breaker.transitions":       len(events.Transitions()),
		"resilience.circuit_breaker.next_probe.time":   1,
		"resilience.circuit_breaker.state_change.time": 1,
		"resilience.limiter.usage":                     1,
		"resilience.limiter.queued":                    1,
		"resilience.execution.duration":                0, // histograms and error types appear at first use
		"resilience.attempt.failures":                  0,
	} {
		got := seriesOf(all[name])
		if len(got) != want {
			t.Errorf("%s has %d series, want %d: %v", name, len(got), want, got)
		}
		for set, v := range got {
			if v != 0 && name != "resilience.circuit_breaker.state" {
				t.Errorf("%s{%s} = %v, want 0", name, set, v)
			}
		}
	}
}

func TestActiveExecutionsAreReadAsTheyAre(t *testing.T) {
	r := newRig(t)
	users := r.pipeline("users.get")
	active := func() float64 { return r.value("resilience.execution.active", "resilience.pipeline.name", "users.get") }
	r.execution(context.Background(), users, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(context.Context) {
		if got := active(); got != 1 {
			t.Errorf("active = %v during the call, want 1", got)
		}
	})
	if got := active(); got != 0 {
		t.Errorf("active = %v after the call, want 0", got)
	}
}

func TestRefusalsAndStopsAndTimeoutsAreCountedByTheirLayer(t *testing.T) {
	r := newRig(t)
	users := r.pipeline("users.get", events.TypeRetry, events.TypeBreaker, events.TypeTimeout)
	ctx := context.Background()
	of := func(typ string) events.Meta { return events.Meta{Source: layer(users, typ)} }
	r.bus.CallRejected.Publish(ctx, events.CallRejected{Meta: of(events.TypeBreaker), Reason: events.ReasonProbing})
	r.bus.RetryStopped.Publish(ctx, events.RetryStopped{Meta: of(events.TypeRetry), Reason: events.ReasonExhausted})
	r.bus.TimedOut.Publish(ctx, events.TimedOut{Meta: of(events.TypeTimeout)})
	alone := r.breaker("db", nil) // a breaker that is used without a pipeline has no pipeline's name
	r.bus.CallRejected.Publish(ctx, events.CallRejected{Meta: events.Meta{Source: alone}, Reason: events.ReasonOpen})

	for _, got := range []float64{
		r.value("resilience.rejections", "resilience.pipeline.name", "users.get", "resilience.layer.name", "circuit_breaker", "resilience.reason", "probing"),
		r.value("resilience.rejections", "resilience.layer.name", "db", "resilience.reason", "open"),
		r.value("resilience.retry.stops", "resilience.pipeline.name", "users.get", "resilience.reason", "exhausted"),
		r.value("resilience.timeouts", "resilience.pipeline.name", "users.get", "resilience.layer.name", "timeout"),
	} {
		if got != 1 {
			t.Errorf("counted %v, want 1", got)
		}
	}
}

func TestAttemptDurationsWhereASecondIsPossible(t *testing.T) {
	for _, c := range []struct {
		durations            otelres.Durations
		executions, attempts int
	}{
		{0, 2, 1},
		{otelres.DurationsAll, 2, 1},
		{otelres.DurationsExecutions, 2, 0},
		{otelres.DurationsNone, 0, 0},
	} {
		r := newRig(t, func(cfg *otelres.Config) { cfg.Durations = c.durations })
		r.succeed(context.Background(), r.pipeline("once", events.TypeTimeout))
		r.succeed(context.Background(), r.pipeline("retried", events.TypeRetry))
		all := r.collect()
		if n := len(seriesOf(all["resilience.execution.duration"])); n != c.executions {
			t.Errorf("Durations %s: %d durations of executions, want %d", c.durations, n, c.executions)
		}
		if n := len(seriesOf(all["resilience.attempt.duration"])); n != c.attempts {
			t.Errorf("Durations %s: %d durations of attempts, want %d", c.durations, n, c.attempts)
		}
		if n := len(seriesOf(all["resilience.execution.attempts"])); n != 2 {
			t.Errorf("Durations %s: %d series of attempts, want 2", c.durations, n)
		}
	}
}

type class string

func (c class) Error() string     { return "secret" }
func (c class) ErrorType() string { return string(c) }

// Error types are bounded by pipeline name, whatever pipelines of that name come and go.
func TestErrorTypesAreBounded(t *testing.T) {
	r := newRig(t)
	fail := func(s *events.Source, err error) {
		r.attempt(context.Background(), s, 1, 0, events.AttemptFinished{Outcome: events.OutcomeFailure, Err: err}, nil)
	}
	users := r.pipeline("users.get")
	for i := range 8 {
		fail(users, class(fmt.Sprint("t", i)))
	}
	r.bus.Remove(users)
	again := r.pipeline("users.get")
	for i := range 8 {
		fail(again, class(fmt.Sprint("u", i)))
	}
	fail(again, nil)
	got := seriesOf(r.collect()["resilience.attempt.failures"])
	if len(got) != 11 {
		t.Errorf("%d classes, want ten and _OTHER: %v", len(got), got)
	}
	if n := got[setOf("resilience.pipeline.name", "users.get", "error.type", "_OTHER")]; n != 7 {
		t.Errorf("_OTHER = %v, want the six beyond the bound and the one without an error", n)
	}
}

// An SDK that is set after Attach gets what was counted before, and the zeros.
func TestMetersThatAreSetLater(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	bus := events.NewBus()
	detach := otelres.MustAttach(bus, otelres.Config{TracerProvider: tracenoop.NewTracerProvider()})
	defer detach()
	users := bus.NewSource(pipelineSpec("users.get", events.TypeTimeout))
	observedCall(bus, users)

	reader := sdkmetric.NewManualReader()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	observedCall(bus, users)
	all := collect(t, reader)
	if got := seriesOf(all["resilience.executions"])[setOf("resilience.pipeline.name", "users.get", "resilience.outcome", "success")]; got != 2 {
		t.Errorf("executions = %v, want the one before and the one since", got)
	}
	if got, ok := seriesOf(all["resilience.timeouts"])[setOf("resilience.pipeline.name", "users.get", "resilience.layer.name", "timeout")]; !ok || got != 0 {
		t.Errorf("timeouts = %v, %v, want 0", got, ok)
	}
}

// Counters exist for every reader, whichever collects first, and also where only changes are told.
func TestZerosReachEveryReader(t *testing.T) {
	first, second := sdkmetric.NewManualReader(), sdkmetric.NewManualReader(sdkmetric.WithTemporalitySelector(
		func(sdkmetric.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }))
	r := newRig(t, func(c *otelres.Config) {
		c.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(first), sdkmetric.WithReader(second))
	})
	r.pipeline("users.get")
	for i, reader := range []*sdkmetric.ManualReader{first, second} {
		if got := len(seriesOf(collect(t, reader)["resilience.executions"])); got != len(events.Outcomes())-1 {
			t.Errorf("reader %d has %d series, want %d", i, got, len(events.Outcomes())-1)
		}
	}
}

// Exemplars lead from a duration to its trace.
func TestDurationsCarryExemplars(t *testing.T) {
	r := newRig(t)
	r.succeed(context.Background(), r.pipeline("users.get", events.TypeRetry))
	want := r.ended("users.get").SpanContext().TraceID()
	for _, name := range []string{"resilience.execution.duration", "resilience.attempt.duration"} {
		points := r.collect()[name].Data.(metricdata.Histogram[float64]).DataPoints
		if len(points) != 1 || len(points[0].Exemplars) != 1 {
			t.Errorf("%s: no exemplar", name)
		} else if got := points[0].Exemplars[0].TraceID; string(got) != string(want[:]) {
			t.Errorf("%s: exemplar of trace %x, want %s", name, got, want)
		}
	}
}

// A value that an enum does not have is told as _OTHER, and the events of sources that are gone are not told.
func TestWhatIsUnknownIsOther(t *testing.T) {
	r := newRig(t)
	users, gone := r.pipeline("users.get", events.TypeRetry), r.pipeline("gone", events.TypeRetry)
	r.attempt(context.Background(), users, 1, 0, events.AttemptFinished{}, nil)
	r.bus.Remove(gone)
	for _, s := range []*events.Source{users, gone} {
		r.bus.RetryStopped.Publish(context.Background(), events.RetryStopped{Meta: events.Meta{Source: layer(s, events.TypeRetry)}, Reason: 99})
	}
	if got := r.value("resilience.attempts", "resilience.pipeline.name", "users.get", "resilience.attempt.kind", "initial", "resilience.outcome", "_OTHER"); got != 1 {
		t.Errorf("attempts = %v, want 1", got)
	}
	if got := r.value("resilience.retry.stops", "resilience.pipeline.name", "users.get", "resilience.reason", "_OTHER"); got != 1 {
		t.Errorf("stops = %v, want 1", got)
	}
	for set, n := range seriesOf(r.collect()["resilience.retry.stops"]) {
		if strings.Contains(set, "gone") && n != 0 {
			t.Errorf("a source that is gone is told: %s", set)
		}
	}
}
