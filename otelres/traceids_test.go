package otelres_test

import (
	"context"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
)

// SLOG-01: where otelres is attached, whoever has an event's context can tell its span.
func TestTraceIDsAreThoseOfTheSpanInTheContext(t *testing.T) {
	if _, _, ok := otelres.TraceIDs(context.Background()); ok {
		t.Error("a context without a span has ids")
	}
	r := newRig(t)
	users := r.pipeline("users.get")
	var traceID, spanID string
	r.execution(context.Background(), users, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
		traceID, spanID, _ = otelres.TraceIDs(ctx)
	})
	want := r.ended("users.get").SpanContext()
	if traceID != want.TraceID().String() || spanID != want.SpanID().String() {
		t.Errorf("ids %s, %s, want %s, %s", traceID, spanID, want.TraceID(), want.SpanID())
	}
}
