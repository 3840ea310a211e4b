package otelres

import (
	"context"
	"time"

	"github.com/telltale-go/telltale/events"
	"go.opentelemetry.io/otel/trace"
)

// call is an execution or an attempt under way that a trace knows of: what its end needs. An execution whose span takes
// span events is also the context of what runs in it, so that they find it: the span that happens to be current may be
// the user's, or another adapter's.
type call struct {
	context.Context // with the span
	a               *adapter
	p               *pipeline
	span            trace.Span // nil if the adapter makes none
}

// Value implements [context.Context]. The adapter itself is the key, so that each finds its own.
func (c *call) Value(key any) any {
	if key == any(c.a) {
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
	p := a.pipelineOf(e.Meta)
	if p == nil {
		return nil, nil
	}
	if !a.traces(ctx) {
		p.active.Add(1)
		return nil, p.untracedExecution
	}
	c := a.begin(ctx, p, a.tracer != nil, p.name, p.executionOptions)
	p.active.Add(1)
	if c.span != nil && a.spanEvents && c.span.IsRecording() {
		return c, c.finishExecution
	}
	return c.Context, c.finishExecution
}

func (c *call) finishExecution(e events.ExecutionFinished) {
	if c.span != nil {
		defer c.span.End()
	}
	c.p.executionFinished(lasting{c}, e)
	if c.span != nil && c.span.IsRecording() {
		setExecution(c.span, e, c.p.failures)
	}
}

// attemptStarted starts an attempt's span.
func (a *adapter) attemptStarted(ctx context.Context, e events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
	p := a.pipelineOf(e.Meta)
	if p == nil {
		return nil, nil
	}
	if !a.traces(ctx) {
		return nil, p.untracedAttempt
	}
	c := a.begin(ctx, p, a.tracer != nil && (p.retried || !a.omitSingleAttempts), p.attemptName, p.attemptOptions[e.Kind])
	if c.span != nil && c.span.IsRecording() {
		setAttemptStart(c.span, e)
	}
	return c.Context, c.finishAttempt
}

func (c *call) finishAttempt(e events.AttemptFinished) {
	if c.span != nil {
		defer c.span.End()
	}
	class := ""
	if c.span != nil && c.span.IsRecording() {
		if failed(e.Outcome) {
			class = c.p.failures.class(e.Err)
		}
		setAttemptEnd(c.span, e.Outcome, class)
	}
	c.p.attemptFinished(lasting{c}, e, class)
}

// traces tells whether a trace may know of a call: if not, its context matters to nobody.
func (a *adapter) traces(ctx context.Context) bool {
	return a.tracer != nil || trace.SpanContextFromContext(ctx).IsSampled()
}

func (a *adapter) begin(ctx context.Context, p *pipeline, spans bool, name string, options []trace.SpanStartOption) *call {
	c := &call{Context: ctx, a: a, p: p}
	if spans {
		c.Context, c.span = a.tracer.Start(ctx, name, options...)
	}
	return c
}

// pipelineOf returns what is kept for the source of an event; nil if the event is not to be told: it is of a call that a
// subscriber makes, or its source is gone.
func (a *adapter) pipelineOf(m events.Meta) *pipeline {
	if m.Nested {
		return nil
	}
	if s := a.sources.Get(m.Source); s != nil {
		return s.pipeline
	}
	return nil
}
