package promres

import (
	"context"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
)

// Labels of exemplars.
const (
	exemplarTraceID = "trace_id"
	exemplarSpanID  = "span_id"
)

// exemplar returns the labels that lead from an observation to its trace, nil if it has none. What the program's function
// does wrong costs the exemplar, never the count. It is generic so that the event is boxed only for a panic.
func exemplar[E events.Event](ctx context.Context, a *adapter, e E) prometheus.Labels {
	traceID, spanID, ok, panicked := a.traceIDs(ctx)
	if panicked != nil {
		func() {
			defer a.by.Guard(ctx, e)
			panic(panicked)
		}()
	}
	if !ok || !utf8.ValidString(traceID) || !utf8.ValidString(spanID) {
		return nil
	}
	if utf8.RuneCountInString(exemplarTraceID+traceID+exemplarSpanID+spanID) > prometheus.ExemplarMaxRunes {
		return nil
	}
	return prometheus.Labels{exemplarTraceID: traceID, exemplarSpanID: spanID}
}

func (a *adapter) traceIDs(ctx context.Context) (traceID, spanID string, ok bool, panicked any) {
	defer func() { panicked = recover() }()
	traceID, spanID, ok = a.trace(ctx)
	return traceID, spanID, ok, nil
}

// observe observes a value, with an exemplar if there are labels for one.
func observe(o prometheus.Observer, v float64, exemplar prometheus.Labels) {
	if exemplar != nil {
		if with, ok := o.(prometheus.ExemplarObserver); ok {
			with.ObserveWithExemplar(v, exemplar)
			return
		}
	}
	o.Observe(v)
}

// executionWatched is [adapter.executionStarted] where durations carry exemplars. Watchers get the context that the
// operation gets, so the span is the call's, if another adapter makes one.
func (a *adapter) executionWatched(ctx context.Context, e events.ExecutionStarted) func(events.ExecutionFinished) {
	r := a.row(&e.Meta)
	if r == nil || r.calls == nil {
		return nil
	}
	c := r.calls
	c.active.Inc()
	if c.executionDuration == nil {
		return c.executionEnd
	}
	labels := exemplar(ctx, a, e)
	if labels == nil {
		return c.executionEnd
	}
	return func(e events.ExecutionFinished) { c.endExecution(&e, labels) }
}

// attemptWatched is the same of attempts.
func (a *adapter) attemptWatched(ctx context.Context, e events.AttemptStarted) func(events.AttemptFinished) {
	r := a.row(&e.Meta)
	if r == nil || r.calls == nil {
		return nil
	}
	c := r.calls
	if c.attemptDuration == nil {
		return c.attemptEnd
	}
	labels := exemplar(ctx, a, e)
	if labels == nil {
		return c.attemptEnd
	}
	return func(e events.AttemptFinished) { c.endAttempt(&e, labels) }
}
