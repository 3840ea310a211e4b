package otelres

import (
	"context"
	"sync/atomic"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/names"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// pipeline is what is kept for one live pipeline. It does not hold the source, which the bus holds weakly.
type pipeline struct {
	in       *instruments
	failures *failures
	name     string
	retried  bool // a second attempt is possible
	active   atomic.Int64

	executions      *family[events.Outcome, measured]
	attempts        families[events.AttemptKind, events.Outcome, measured]
	backoff, queued *series
	attemptDuration metric.Float64Histogram // nil: not measured

	attemptName      string // of the spans
	executionOptions []trace.SpanStartOption
	attemptOptions   [][]trace.SpanStartOption // by events.AttemptKind

	// untracedExecution and untracedAttempt are the ends of those that no trace knows of, bound once.
	untracedExecution func(events.ExecutionFinished)
	untracedAttempt   func(events.AttemptFinished)
}

// measured is what the ends of calls that ended alike are recorded to: a count, and the attributes of the histograms.
type measured struct {
	*series
	record []metric.RecordOption
}

// newMeasured makes the histograms' attributes of the pipeline's name and the outcome, and the count's of those and more.
func newMeasured(c *counter, name, outcome attribute.KeyValue, more ...attribute.KeyValue) *measured {
	return &measured{
		series: c.of(append([]attribute.KeyValue{name, outcome}, more...)...),
		record: []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(name, outcome))},
	}
}

func newPipeline(s *events.Source, in *instruments, f *failures) *pipeline {
	name := attribute.String(events.KeyPipelineName, s.Pipeline())
	kinds, outcomes := events.AttemptKinds(), events.Outcomes()
	p := &pipeline{
		in: in, failures: f, name: s.Pipeline(),
		retried: len(events.AttemptKindsOf(s)) > 1,

		executions: newFamily(outcomes, func(o events.Outcome) *measured {
			return newMeasured(in.executions, name, valueOf(events.KeyOutcome, o))
		}),
		attempts: newFamilies(kinds, func(k events.AttemptKind) *family[events.Outcome, measured] {
			return newFamily(outcomes, func(o events.Outcome) *measured {
				return newMeasured(in.attempts, name, valueOf(events.KeyOutcome, o), valueOf(events.KeyAttemptKind, k))
			})
		}),
		backoff: in.wait.of(name, attribute.String(names.KeyWaitKind, names.WaitBackoff)),
		queued:  in.wait.of(name, attribute.String(names.KeyWaitKind, names.WaitQueue)),

		attemptName:      s.Pipeline() + attemptSpanSuffix,
		executionOptions: []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(name)},
		attemptOptions:   make([][]trace.SpanStartOption, len(kinds)+1),
	}
	for _, k := range kinds {
		p.attemptOptions[k] = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindInternal)}
		if k != events.AttemptInitial { // that says so at its end, with all else: each time costs the SDK two allocations
			p.attemptOptions[k] = append(p.attemptOptions[k], trace.WithAttributes(attribute.String(events.KeyAttemptKind, k.String())))
		}
	}
	if p.retried {
		p.attemptDuration = in.attemptDuration
	}
	p.open(s)
	p.untracedExecution = func(e events.ExecutionFinished) { p.executionFinished(context.Background(), &e) }
	p.untracedAttempt = func(e events.AttemptFinished) { p.attemptFinished(context.Background(), &e, "") }
	return p
}

// open makes the series of what the pipeline may count, which thereby exist at zero.
func (p *pipeline) open(s *events.Source) {
	for _, o := range events.OutcomesOf(s) {
		p.executions.of(o)
	}
	for _, o := range events.AttemptOutcomes() {
		for _, k := range events.AttemptKindsOf(s) {
			p.attempts.of(k, o)
		}
	}
}

// executionFinished records the end of an execution that was counted as active. ctx is for exemplars; it is never done. It
// takes a pointer, since the event is 200 bytes.
func (p *pipeline) executionFinished(ctx context.Context, e *events.ExecutionFinished) {
	p.active.Add(-1)
	m := p.executions.of(e.Outcome)
	m.count()
	if h := p.in.executionDuration; h != nil && h.Enabled(ctx) {
		h.Record(ctx, e.Duration.Seconds(), m.record...)
	}
	if h := p.in.executionAttempts; h.Enabled(ctx) {
		h.Record(ctx, int64(e.Attempts), m.record...)
	}
	if e.Backoff > 0 {
		p.backoff.wait(e.Backoff)
	}
	if e.Queued > 0 {
		p.queued.wait(e.Queued)
	}
}

// attemptFinished records the end of an attempt. class is that of its error, if the caller knows it.
func (p *pipeline) attemptFinished(ctx context.Context, e *events.AttemptFinished, class string) {
	m := p.attempts.of(e.Kind, e.Outcome)
	m.count()
	if h := p.attemptDuration; h != nil && h.Enabled(ctx) {
		h.Record(ctx, e.Duration.Seconds(), m.record...)
	}
	if failed(e.Outcome) && p.in.told {
		if class == "" {
			class = p.failures.class(e.Err)
		}
		p.failures.of(class).count()
	}
}

// failed tells whether an outcome is the caller's or the operation's failure: it has an error.type, and makes the status
// of a span Error. A cancellation does not.
func failed(o events.Outcome) bool {
	return o == events.OutcomeFailure || o == events.OutcomeRejected || o == events.OutcomeTimeout
}
