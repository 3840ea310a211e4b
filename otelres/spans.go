package otelres

import (
	"context"

	"github.com/telltale-go/telltale/events"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// What is written on spans, all of it only if the span is recording. Statuses are described by the error's class: its
// text may hold personal data.

// atFirst and firstAttempt are what is written of an execution that succeeded at its first attempt and waited for nothing,
// and of the attempt: made once, since most calls are such. The outcome stands first.
var (
	atFirst      = []attribute.KeyValue{attribute.String(events.KeyOutcome, events.OutcomeSuccess.String()), attribute.Int(events.KeyAttempts, 1)}
	firstAttempt = []attribute.KeyValue{atFirst[0],
		attribute.String(events.KeyAttemptKind, events.AttemptInitial.String()), attribute.Int(events.KeyAttemptNumber, 1)}
)

func setExecution(span trace.Span, e *events.ExecutionFinished, f *failures) {
	if e.Outcome == events.OutcomeSuccess && e.Attempts == 1 && e.Reason == 0 && e.Layer == nil && e.Backoff == 0 && e.Queued == 0 {
		span.SetAttributes(atFirst...)
		return
	}
	attributes := append(make([]attribute.KeyValue, 0, 7),
		attribute.String(events.KeyOutcome, e.Outcome.String()), attribute.Int(events.KeyAttempts, e.Attempts))
	if e.Reason != 0 {
		attributes = append(attributes, attribute.String(events.KeyReason, e.Reason.String()))
	}
	if e.Layer != nil && e.Layer.Layer() != "" {
		attributes = append(attributes, attribute.String(events.KeyLayerName, e.Layer.Layer()))
	}
	if e.Backoff > 0 {
		attributes = append(attributes, attribute.Float64(keyBackoff, e.Backoff.Seconds()))
	}
	if e.Queued > 0 {
		attributes = append(attributes, attribute.Float64(keyQueued, e.Queued.Seconds()))
	}
	if failed(e.Outcome) {
		class := f.class(e.Err)
		attributes = append(attributes, attribute.String(events.KeyErrorType, class))
		span.SetStatus(codes.Error, class)
	}
	span.SetAttributes(attributes...)
}

// setAttemptStart is for attempts that are not the first.
func setAttemptStart(span trace.Span, e *events.AttemptStarted) {
	number := attribute.Int(events.KeyAttemptNumber, e.Attempt)
	if e.Kind != events.AttemptRetry {
		span.SetAttributes(number)
		return
	}
	span.SetAttributes(number, attribute.Float64(keyRetryDelay, e.Delay.Seconds()))
}

// setAttemptEnd has the class of the error if the outcome is a failure, else "".
func setAttemptEnd(span trace.Span, e *events.AttemptFinished, class string) {
	initial := e.Kind == events.AttemptInitial
	switch {
	case e.Outcome != events.OutcomeSuccess:
	case !initial:
		span.SetAttributes(firstAttempt[:1]...)
		return
	case e.Attempt == 1:
		span.SetAttributes(firstAttempt...)
		return
	}
	attributes := append(make([]attribute.KeyValue, 0, 4), attribute.String(events.KeyOutcome, e.Outcome.String()))
	if initial {
		attributes = append(attributes, firstAttempt[1], attribute.Int(events.KeyAttemptNumber, e.Attempt))
	}
	if class != "" {
		attributes = append(attributes, attribute.String(events.KeyErrorType, class))
		span.SetStatus(codes.Error, class)
	}
	span.SetAttributes(attributes...)
}

// recording returns the span that takes the events of a call, nil if there is none.
func (a *adapter) recording(ctx context.Context) trace.Span {
	if !a.spanEvents {
		return nil
	}
	return a.recordingSpan(ctx)
}

// recordingSpan returns the span of the execution that a context is in, nil if it is recorded nowhere.
func (a *adapter) recordingSpan(ctx context.Context) trace.Span {
	if a.tracer == nil || events.Nested(ctx) {
		return nil
	}
	if c, ok := ctx.Value(inExecution{a}).(*call); ok && c.span.IsRecording() {
		return c.span
	}
	return nil
}

// spanContext returns what a link to the execution that a context is in needs: that of the adapter's own span, or, if it
// has none there, of the current one.
func (a *adapter) spanContext(ctx context.Context) trace.SpanContext {
	if c, ok := ctx.Value(inExecution{a}).(*call); ok {
		return c.span.SpanContext()
	}
	return trace.SpanContextFromContext(ctx)
}

// addSpanEvent is the one place that writes span events: OpenTelemetry is moving them to logs.
func addSpanEvent(span trace.Span, name string, attributes ...attribute.KeyValue) {
	span.AddEvent(name, trace.WithAttributes(attributes...))
}
