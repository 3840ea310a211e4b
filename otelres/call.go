package otelres

import (
	"context"
	"time"

	"github.com/telltale-go/telltale/events"
	"go.opentelemetry.io/otel/trace"
)

// call is an execution or an attempt under way that a trace knows of: what its end needs. One with a span is also the
// context of what runs in it, so that span events find their execution, and each adapter its own spans: the span that
// happens to be current may be the user's, or another adapter's.
type call struct {
	context.Context // with the span
	a               *adapter
	p               *pipeline
	span            trace.Span      // nil if the adapter makes none
	recording       bool            // the span was, when it began: asking it takes a lock
	before          context.Context // without the span
	execution       uint64
	attempt         int // 0 for an execution
}

// inExecution, inCall and inAnyCall are the keys of contexts under which the innermost call is found: an adapter's last
// execution, an adapter's last execution or attempt, and that of any adapter.
type (
	inExecution struct{ *adapter }
	inCall      struct{ *adapter }
	inAnyCall   struct{}
)

// Value implements [context.Context].
func (c *call) Value(key any) any {
	switch key := key.(type) {
	case inExecution:
		if key.adapter == c.a && c.attempt == 0 {
			return c
		}
	case inCall:
		if key.adapter == c.a {
			return c
		}
	case inAnyCall:
		return c
	}
	return c.Context.Value(key)
}

// lasting is a call's context without its end: what is recorded late must not be lost. Being one pointer, it costs no
// allocation.
type lasting struct{ *call }

func (lasting) Deadline() (time.Time, bool) { return time.Time{}, false }
func (lasting) Done() <-chan struct{}       { return nil }
func (lasting) Err() error                  { return nil }

// executionStarted counts the execution and starts its span.
func (a *adapter) executionStarted(ctx context.Context, e events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
	p := a.pipelineOf(&e.Meta)
	if p == nil {
		return nil, nil
	}
	if !a.traces(ctx) {
		p.active.Add(1)
		return nil, p.untracedExecution
	}
	c := &call{Context: ctx, a: a, p: p, execution: e.Execution}
	if a.tracer != nil {
		c.begin(p.name, p.executionOptions)
	}
	p.active.Add(1)
	return c.context(), c.finishExecution
}

func (c *call) finishExecution(e events.ExecutionFinished) {
	if c.span != nil {
		defer c.span.End()
	}
	c.p.executionFinished(lasting{c}, &e)
	if c.recording {
		setExecution(c.span, &e, c.p.failures)
	}
}

// attemptStarted starts an attempt's span.
func (a *adapter) attemptStarted(ctx context.Context, e events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
	p := a.pipelineOf(&e.Meta)
	if p == nil {
		return nil, nil
	}
	if !a.traces(ctx) || a.tracer == nil && p.attemptDuration == nil { // a count has no exemplar
		return nil, p.untracedAttempt
	}
	c := &call{Context: ctx, a: a, p: p, execution: e.Execution, attempt: max(e.Attempt, 1)}
	if a.tracer != nil && (p.retried || !a.omitSingleAttempts) {
		if c.begin(p.attemptName, p.attemptOptions[e.Kind]); c.recording && e.Kind != events.AttemptInitial {
			setAttemptStart(c.span, &e)
		}
	}
	return c.context(), c.finishAttempt
}

func (c *call) finishAttempt(e events.AttemptFinished) {
	if c.span != nil {
		defer c.span.End()
	}
	class := ""
	if c.recording {
		if failed(e.Outcome) {
			class = c.p.failures.class(e.Err)
		}
		setAttemptEnd(c.span, &e, class)
	}
	c.p.attemptFinished(lasting{c}, &e, class)
}

// traces tells whether a trace may know of a call: if not, its context matters to nobody.
func (a *adapter) traces(ctx context.Context) bool {
	return a.tracer != nil || trace.SpanContextFromContext(ctx).IsSampled()
}

// begin starts the call's span.
func (c *call) begin(name string, options []trace.SpanStartOption) {
	c.before = c.Context
	c.Context, c.span = c.a.tracer.Start(c.parent(), name, options...)
	c.recording = c.span.IsRecording()
}

// context returns what runs in the call gets.
func (c *call) context() context.Context {
	if c.span == nil {
		return c.Context
	}
	return c
}

// parent returns the context with the span that the call's is a child of: the current one, unless that is another
// adapter's, which this adapter's exporter does not have. Then it is the one that was current before the other adapter
// began the same call, or this adapter's last.
func (c *call) parent() context.Context {
	at := c.before
	for {
		other, ok := at.Value(inAnyCall{}).(*call)
		if !ok || other.a == c.a {
			break
		}
		current := trace.SpanContextFromContext(at)
		if !current.IsValid() || other.span.SpanContext().SpanID() != current.SpanID() {
			break
		}
		if other.execution == c.execution && other.attempt == c.attempt {
			at = other.before
			continue
		}
		if own, ok := at.Value(inCall{c.a}).(*call); ok {
			return trace.ContextWithSpan(c.before, own.span)
		}
		break
	}
	if at == c.before {
		return at
	}
	return trace.ContextWithSpan(c.before, trace.SpanFromContext(at))
}

// pipelineOf returns what is kept for the source of an event; nil if the event is not to be told: it is of a call that a
// subscriber makes, or its source is gone.
func (a *adapter) pipelineOf(m *events.Meta) *pipeline {
	if m.Nested {
		return nil
	}
	if s := a.sources.Get(m.Source); s != nil {
		return s.pipeline
	}
	return nil
}
