package otelres

import (
	"context"

	"github.com/telltale-go/telltale/events"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// What happens within calls becomes counts, and span events of the execution.

func (a *adapter) retryScheduled(ctx context.Context, e events.RetryScheduled) {
	l := a.layerOf(e.Meta)
	if l == nil {
		return
	}
	if span := a.recording(ctx); span != nil {
		attributes := append(make([]attribute.KeyValue, 0, 5), l.name, attribute.Int(events.KeyAttemptNumber, e.Attempt),
			attribute.Float64(keyRetryDelay, e.Delay.Seconds()), attribute.String(events.KeyErrorType, l.failures.class(e.Err)))
		if e.HintedByPeer {
			attributes = append(attributes, attribute.Bool(keyRetryHinted, true))
		}
		addSpanEvent(span, spanEventRetryScheduled, attributes...)
	}
}

func (a *adapter) retryStopped(ctx context.Context, e events.RetryStopped) {
	l := a.layerOf(e.Meta)
	if l == nil {
		return
	}
	l.stops.of(e.Reason).count()
	if span := a.recording(ctx); span != nil {
		addSpanEvent(span, spanEventRetryStopped, l.name, attribute.String(events.KeyReason, e.Reason.String()),
			attribute.String(events.KeyErrorType, l.failures.class(e.Err)))
	}
}

func (a *adapter) callRejected(ctx context.Context, e events.CallRejected) {
	l := a.layerOf(e.Meta)
	if l == nil {
		return
	}
	l.rejections.of(e.Reason).count()
	l.keys.Rejected(e.Key, e.Reason)
	if span := a.recording(ctx); span != nil {
		addSpanEvent(span, spanEventRejected, l.name, l.layerType, attribute.String(events.KeyReason, e.Reason.String()))
	}
}

func (a *adapter) timedOut(ctx context.Context, e events.TimedOut) {
	l := a.layerOf(e.Meta)
	if l == nil {
		return
	}
	l.timeouts().count()
	if span := a.recording(ctx); span != nil {
		addSpanEvent(span, spanEventTimedOut, l.name, attribute.Float64(keyTimeoutLimit, e.Limit.Seconds()))
	}
}

func (a *adapter) stateChanged(ctx context.Context, e events.BreakerStateChanged) {
	l := a.layerOf(e.Meta)
	if l == nil || l.transitions == nil {
		return
	}
	l.transitions.of(e.To, e.Reason).count()
	if span := a.recording(ctx); span != nil {
		addSpanEvent(span, spanEventStateChanged, l.name, attribute.String(events.KeyStateFrom, e.From.String()),
			attribute.String(events.KeyState, e.To.String()), attribute.String(events.KeyReason, e.Reason.String()))
	}
}

// hedgeSettled counts the calls that a hedge won. One whose last failure is a hedge's was won by nobody.
func (a *adapter) hedgeSettled(_ context.Context, e events.HedgeSettled) {
	if l := a.layerOf(e.Meta); l != nil && e.Kind == events.AttemptHedge && e.Err == nil {
		l.hedgeWins().count()
	}
}

func (a *adapter) hedgeDenied(ctx context.Context, e events.HedgeDenied) {
	l := a.layerOf(e.Meta)
	if l == nil {
		return
	}
	l.hedgeDenials().count()
	if span := a.recording(ctx); span != nil {
		addSpanEvent(span, spanEventHedgeDenied, l.name, attribute.String(events.KeyReason, e.Reason.String()))
	}
}

// faultInjected is told on the span alone: what a fault does to the call is counted as the call's outcome.
func (a *adapter) faultInjected(ctx context.Context, e events.FaultInjected) {
	l := a.layerOf(e.Meta)
	if l == nil {
		return
	}
	if span := a.recording(ctx); span != nil {
		fault := attribute.String(events.KeyFault, e.Fault.String())
		addSpanEvent(span, spanEventFault, l.name, fault, attribute.Float64(keyFaultDelay, e.Delay.Seconds()))
	}
}

func (a *adapter) fallbackUsed(ctx context.Context, e events.FallbackUsed) {
	l := a.layerOf(e.Meta)
	if l == nil {
		return
	}
	l.fallbacks.of(e.Outcome).count()
	if span := a.recording(ctx); span != nil {
		addSpanEvent(span, spanEventFallbackUsed, l.name, attribute.String(events.KeyOutcome, e.Outcome.String()),
			attribute.String(events.KeyErrorType, l.failures.class(e.Cause)))
	}
}

// flightJoined tells on the span whether the call leads or follows, and links a follower's to its leader's.
func (a *adapter) flightJoined(ctx context.Context, e events.FlightJoined) {
	l := a.layerOf(e.Meta)
	if l == nil {
		return
	}
	l.flights.of(e.Role).count()
	span := a.recordingSpan(ctx)
	if span == nil {
		return
	}
	span.SetAttributes(attribute.String(events.KeyFlightRole, e.Role.String()))
	if e.LeaderContext != nil {
		if leader := a.spanContext(e.LeaderContext); leader.IsValid() {
			span.AddLink(trace.Link{SpanContext: leader})
		}
	}
}

// layerOf is [adapter.pipelineOf] for the events of layers.
func (a *adapter) layerOf(m events.Meta) *layer {
	if m.Nested {
		return nil
	}
	if s := a.sources.Get(m.Source); s != nil {
		return s.layer
	}
	return nil
}
