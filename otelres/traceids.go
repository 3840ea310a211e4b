package otelres

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// SampledTraceIDs is [TraceIDs] for sampled spans alone, those that a trace store will have. It is what
// promres.Config.Trace takes.
func SampledTraceIDs(ctx context.Context) (traceID, spanID string, ok bool) {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return "", "", false
	}
	return TraceIDs(ctx)
}

// TraceIDs returns the ids of the span in ctx as hexadecimal text, false if there is none. It is what slogres.Config.Trace
// takes.
func TraceIDs(ctx context.Context) (traceID, spanID string, ok bool) {
	s := trace.SpanContextFromContext(ctx)
	if !s.IsValid() {
		return "", "", false
	}
	return s.TraceID().String(), s.SpanID().String(), true
}
