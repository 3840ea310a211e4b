package otelres

import (
	"context"
	"sync/atomic"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/names"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// pipeline is what is kept for one live pipeline. It does not hold the source, which the bus holds weakly.
type pipeline struct {
	in       *instruments
	failures *failures
	name     string
	retried  bool // a second attempt is possible
	active   atomic.Int64

	byOutcome       *family[events.Outcome] // of executions, and of attempts' durations
	attempts        families[events.AttemptKind, events.Outcome]
	outcomes        []events.Outcome     // those that its calls can have
	kinds           []events.AttemptKind // those that its layers start
	backoff, queued *series

	attemptName      string // of the spans
	executionOptions []trace.SpanStartOption
	attemptOptions   [][]trace.SpanStartOption // by events.AttemptKind

	// untracedExecution and untracedAttempt are the ends of those that no trace knows of, bound once.
	untracedExecution func(events.ExecutionFinished)
	untracedAttempt   func(events.AttemptFinished)
}

func newPipeline(s *events.Source, in *instruments, f *failures) *pipeline {
	name := attribute.String(events.KeyPipelineName, s.Pipeline())
	kinds, outcomes := events.AttemptKinds(), events.Outcomes()
	p := &pipeline{
		in: in, failures: f, name: s.Pipeline(),
		retried: len(events.AttemptKindsOf(s)) > 1,

		byOutcome: newFamily(events.KeyOutcome, outcomes, name),
		attempts:  newFamilies(events.KeyAttemptKind, kinds, events.KeyOutcome, outcomes, name),
		outcomes:  events.OutcomesOf(s),
		kinds:     events.AttemptKindsOf(s),
		backoff:   newSeries(name, attribute.String(names.KeyWaitKind, names.WaitBackoff)),
		queued:    newSeries(name, attribute.String(names.KeyWaitKind, names.WaitQueue)),

		attemptName:      s.Pipeline() + attemptSpanSuffix,
		executionOptions: []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(name)},
		attemptOptions:   make([][]trace.SpanStartOption, len(kinds)+1),
	}
	for _, k := range kinds {
		kind := attribute.String(events.KeyAttemptKind, k.String())
		p.attemptOptions[k] = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(kind)}
	}
	p.untracedExecution = func(e events.ExecutionFinished) { p.executionFinished(context.Background(), &e) }
	p.untracedAttempt = func(e events.AttemptFinished) { p.attemptFinished(context.Background(), &e, "") }
	return p
}

// executionFinished records the end of an execution that was counted as active. ctx is for exemplars; it is never done. It
// takes a pointer, since the event is 200 bytes.
func (p *pipeline) executionFinished(ctx context.Context, e *events.ExecutionFinished) {
	p.active.Add(-1)
	s := p.byOutcome.of(e.Outcome)
	s.count(ctx, p.in.executions)
	if h := p.in.executionDuration; h.Enabled(ctx) {
		h.Record(ctx, e.Duration.Seconds(), s.record...)
	}
	if h := p.in.executionAttempts; h.Enabled(ctx) {
		h.Record(ctx, int64(e.Attempts), s.record...)
	}
	if e.Backoff > 0 {
		p.in.wait.Add(ctx, e.Backoff.Seconds(), p.backoff.add...)
	}
	if e.Queued > 0 {
		p.in.wait.Add(ctx, e.Queued.Seconds(), p.queued.add...)
	}
}

// attemptFinished records the end of an attempt. class is that of its error, if the caller knows it.
func (p *pipeline) attemptFinished(ctx context.Context, e *events.AttemptFinished, class string) {
	p.attempts.of(e.Kind, e.Outcome).count(ctx, p.in.attempts)
	if h := p.in.attemptDuration; p.retried && h.Enabled(ctx) {
		h.Record(ctx, e.Duration.Seconds(), p.byOutcome.of(e.Outcome).record...)
	}
	if failed(e.Outcome) && p.in.failures.Enabled(ctx) {
		if class == "" {
			class = p.failures.class(e.Err)
		}
		p.failures.of(class).count(ctx, p.in.failures)
	}
}

// zero makes the counters' series over closed attributes exist.
func (p *pipeline) zero(ctx context.Context) {
	for _, o := range p.outcomes {
		p.in.executions.Add(ctx, 0, p.byOutcome.of(o).add...)
	}
	for _, o := range events.AttemptOutcomes() {
		for _, k := range p.kinds {
			p.in.attempts.Add(ctx, 0, p.attempts.of(k, o).add...)
		}
	}
	p.in.wait.Add(ctx, 0, p.backoff.add...)
	p.in.wait.Add(ctx, 0, p.queued.add...)
}

// failed tells whether an outcome is the caller's or the operation's failure: it has an error.type, and makes the status
// of a span Error. A cancellation does not.
func failed(o events.Outcome) bool {
	return o == events.OutcomeFailure || o == events.OutcomeRejected || o == events.OutcomeTimeout
}
