package promres

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/names"
)

// observedCall returns a function that publishes what one call of two attempts publishes, and a rejection.
func observedCall(bus *events.Bus) func() {
	p := bus.NewSource(events.SourceSpec{Pipeline: "users", Type: events.TypePipeline, Layers: []events.SourceSpec{
		{Pipeline: "users", Layer: "retry", Type: events.TypeRetry}, {Pipeline: "users", Layer: "pool", Type: events.TypeBulkhead},
		{Pipeline: "users", Layer: "timeout", Type: events.TypeTimeout},
	}})
	ctx, meta := context.Background(), events.Meta{Source: p}
	var ends events.Ends[events.ExecutionFinished]
	var attemptEnds events.Ends[events.AttemptFinished]
	once := func(kind events.AttemptKind, outcome events.Outcome) {
		bus.Attempt.Begin(ctx, events.AttemptStarted{Meta: meta, Kind: kind}, &attemptEnds)
		attemptEnds.Finish(events.AttemptFinished{Meta: meta, Kind: kind, Outcome: outcome, Duration: 3 * time.Millisecond})
	}
	return func() {
		bus.Execution.Begin(ctx, events.ExecutionStarted{Meta: meta}, &ends)
		once(events.AttemptInitial, events.OutcomeFailure)
		once(events.AttemptRetry, events.OutcomeSuccess)
		bus.CallRejected.Publish(ctx, events.CallRejected{Meta: events.Meta{Source: p.Layers()[1]}, Reason: events.ReasonFull})
		bus.RetryStopped.Publish(ctx, events.RetryStopped{Meta: events.Meta{Source: p.Layers()[0]}, Reason: events.ReasonExhausted})
		bus.TimedOut.Publish(ctx, events.TimedOut{Meta: events.Meta{Source: p.Layers()[2]}})
		ends.Finish(events.ExecutionFinished{Meta: meta, Outcome: events.OutcomeSuccess, Attempts: 2, Duration: 7 * time.Millisecond,
			Backoff: time.Millisecond, Queued: time.Microsecond})
	}
}

// The series are found without an allocation once they are there.
func TestObservingACallAllocatesNothing(t *testing.T) {
	unsampled := func(context.Context) (string, string, bool) { return "", "", false }
	for _, cfg := range []Config{{}, {Durations: DurationsExecutions}, {Durations: DurationsNone}, {Trace: unsampled}} {
		r := newRig(t, cfg)
		one := observedCall(r.bus)
		one()
		if n := testing.AllocsPerRun(1000, one); n != 0 {
			t.Errorf("%+v: %v allocations a call, want 0", cfg, n)
		}
	}
}

// BenchmarkCall is what observing one successful call of one attempt costs; BenchmarkCallByHand is what the same counters
// cost without a bus.
func BenchmarkCall(b *testing.B) {
	bus := events.NewBus()
	defer MustAttach(bus, Config{Registerer: prometheus.NewRegistry()})()
	p := bus.NewSource(events.SourceSpec{Pipeline: "users", Type: events.TypePipeline, Layers: []events.SourceSpec{
		{Pipeline: "users", Layer: "retry", Type: events.TypeRetry}}})
	ctx, meta := context.Background(), events.Meta{Source: p}
	var ends events.Ends[events.ExecutionFinished]
	var attemptEnds events.Ends[events.AttemptFinished]
	b.ReportAllocs()
	for b.Loop() {
		bus.Execution.Begin(ctx, events.ExecutionStarted{Meta: meta}, &ends)
		bus.Attempt.Begin(ctx, events.AttemptStarted{Meta: meta, Kind: events.AttemptInitial}, &attemptEnds)
		attemptEnds.Finish(events.AttemptFinished{Meta: meta, Kind: events.AttemptInitial, Outcome: events.OutcomeSuccess, Duration: 3 * time.Millisecond})
		ends.Finish(events.ExecutionFinished{Meta: meta, Outcome: events.OutcomeSuccess, Attempts: 1, Duration: 3 * time.Millisecond})
	}
}

func BenchmarkCallByHand(b *testing.B) {
	active := newGauges(names.ExecutionActive.Of(), nil).hold([]string{"users"})
	calls := newCounters(names.Executions.Of(), nil).hold([]string{"users", "success"})
	runs := newCounters(names.Attempts.Of(), nil).hold([]string{"users", "initial", "success"})
	duration := newHistograms(names.ExecutionDuration.Of(), nil).hold([]string{"users", "success"})
	took := newHistograms(names.ExecutionAttempts.Of(), nil).hold([]string{"users", "success"})
	run := newHistograms(names.AttemptDuration.Of(), nil).hold([]string{"users", "success"})
	b.ReportAllocs()
	for b.Loop() {
		active.Inc()
		runs.Inc()
		run.Observe(0.003)
		active.Dec()
		calls.Inc()
		took.Observe(1)
		duration.Observe(0.003)
	}
}
