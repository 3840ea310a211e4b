package otelres

import (
	"context"
	"fmt"

	"github.com/telltale-go/telltale/internal/names"
	"github.com/telltale-go/telltale/internal/version"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// observed are the instruments that are read when the SDK collects.
type observed struct {
	executionActive, state, limit, usage, queued                      metric.Int64ObservableUpDownCounter
	stateTime                                                         metric.Float64ObservableCounter
	stateChange, nextProbe, failureRatio, failureRatioLimit, cooldown metric.Float64ObservableGauge
	windowCalls, layerInfo, buildInfo, budgetAvailable, budgetLimit   metric.Int64ObservableGauge
	droppedEvents, handlerPanics                                      metric.Int64ObservableCounter

	// With Config.Keys, else nil.
	keyedRejections                                 metric.Int64ObservableCounter
	keyedState, keyedLimit, keyedUsage, keyedQueued metric.Int64ObservableUpDownCounter
}

// newObserved makes them, and lists them.
func newObserved(meter metric.Meter, keys bool) (o *observed, all []metric.Observable) {
	m := maker{meter, &all}
	o = &observed{
		executionActive:   m.observedUpDown(names.ExecutionActive),
		state:             m.observedUpDown(names.BreakerState),
		limit:             m.observedUpDown(names.LimiterLimit),
		usage:             m.observedUpDown(names.LimiterUsage),
		queued:            m.observedUpDown(names.LimiterQueued),
		stateTime:         m.observedSeconds(names.BreakerStateTime),
		stateChange:       m.observedGauge(names.BreakerStateChangeTime),
		nextProbe:         m.observedGauge(names.BreakerNextProbeTime),
		failureRatio:      m.observedGauge(names.BreakerFailureRatio),
		failureRatioLimit: m.observedGauge(names.BreakerFailureRatioLimit),
		cooldown:          m.observedGauge(names.BreakerCooldown),
		windowCalls:       m.observedCount(names.BreakerWindowCalls),
		layerInfo:         m.observedCount(names.LayerInfo),
		buildInfo:         m.observedCount(names.BuildInfo),
		budgetAvailable:   m.observedCount(names.BudgetAvailable),
		budgetLimit:       m.observedCount(names.BudgetLimit),
		droppedEvents:     m.observedCounter(names.DroppedEvents),
		handlerPanics:     m.observedCounter(names.HandlerPanics),
	}
	if keys {
		o.keyedRejections = m.observedCounter(names.KeyedRejections)
		o.keyedState = m.observedUpDown(names.KeyedBreakerState)
		o.keyedLimit = m.observedUpDown(names.KeyedLimiterLimit)
		o.keyedUsage = m.observedUpDown(names.KeyedLimiterUsage)
		o.keyedQueued = m.observedUpDown(names.KeyedLimiterQueued)
	}
	return o, all
}

// observe reads the sources at each collection. It returns nil if the provider refuses to.
func (a *adapter) observe(meter metric.Meter) (cancel func()) {
	o, all := newObserved(meter, a.keys != nil)
	build := metric.WithAttributes(attribute.String(names.KeyVersion, version.Built()))
	return atCollection(meter, all, func(_ context.Context, to metric.Observer) error {
		a.read(o, to)
		to.ObserveInt64(o.buildInfo, 1, build)
		return nil
	})
}

// atCollection has f called whenever the SDK collects, until unregister is; that is nil if the provider refuses.
func atCollection(meter metric.Meter, of []metric.Observable, f metric.Callback) (unregister func()) {
	registration, err := meter.RegisterCallback(f, of...)
	if err != nil {
		otel.Handle(fmt.Errorf("otelres: reading at collection: %w", err))
	}
	if registration == nil {
		return nil
	}
	return func() {
		if err := registration.Unregister(); err != nil {
			otel.Handle(fmt.Errorf("otelres: detach: %w", err))
		}
	}
}
