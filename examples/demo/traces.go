package main

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// maxTraces is how many unfinished traces are kept at most.
const maxTraces = 4096

// traces is a span processor that keeps, of all traces, the one most worth showing: a call that was mended by a retry.
// The others are kept until their root ends.
type traces struct {
	mu   sync.Mutex // guards what follows
	open map[trace.TraceID][]sdktrace.ReadOnlySpan
	best []sdktrace.ReadOnlySpan
	rank int
}

func newTraces() *traces {
	t := new(traces)
	t.clear()
	return t
}

func (t *traces) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open, t.best, t.rank = map[trace.TraceID][]sdktrace.ReadOnlySpan{}, nil, 0
}

// OnStart implements sdktrace.SpanProcessor.
func (t *traces) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd implements sdktrace.SpanProcessor.
func (t *traces) OnEnd(s sdktrace.ReadOnlySpan) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := s.SpanContext().TraceID()
	if len(t.best) > 0 && t.best[0].SpanContext().TraceID() == id { // an HTTP span ends when its body is read, after its call
		t.best = append(t.best, s)
		return
	}
	if len(t.open) >= maxTraces && t.open[id] == nil {
		return
	}
	t.open[id] = append(t.open[id], s)
	if s.Parent().IsValid() {
		return
	}
	spans := t.open[id]
	delete(t.open, id)
	if r := rank(s, spans); r > t.rank {
		t.best, t.rank = spans, r
	}
}

// rank tells how much a trace has to show: successes after failed attempts before failures, two or three attempts
// before more, a 503 and a timeout before one of them.
func rank(root sdktrace.ReadOnlySpan, spans []sdktrace.ReadOnlySpan) int {
	attempts := attributeOf(root, "resilience.execution.attempts").AsInt64()
	if attempts < 2 {
		return 1
	}
	r := 2
	if attributeOf(root, "resilience.outcome").AsString() == "success" {
		r += 10
	}
	if attempts == 3 {
		r += 2
	}
	kinds := map[string]bool{}
	for _, s := range spans {
		if v := attributeOf(s, "error.type"); v.Type() == attribute.STRING {
			kinds[v.AsString()] = true
		}
	}
	return r + len(kinds)
}

func attributeOf(s sdktrace.ReadOnlySpan, key attribute.Key) attribute.Value {
	for _, a := range s.Attributes() {
		if a.Key == key {
			return a.Value
		}
	}
	return attribute.Value{}
}

// Shutdown implements sdktrace.SpanProcessor.
func (t *traces) Shutdown(context.Context) error { return nil }

// ForceFlush implements sdktrace.SpanProcessor.
func (t *traces) ForceFlush(context.Context) error { return nil }
