package otelres

import (
	"context"
	"fmt"

	"github.com/telltale-go/telltale/events"
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
}

func newObserved(meter metric.Meter) *observed {
	m := maker{meter}
	return &observed{
		executionActive:   m.observedUpDown(nameExecutionActive),
		state:             m.observedUpDown(nameState),
		limit:             m.observedUpDown(nameLimiterLimit),
		usage:             m.observedUpDown(nameLimiterUsage),
		queued:            m.observedUpDown(nameLimiterQueued),
		stateTime:         m.observedSeconds(nameStateTime),
		stateChange:       m.observedGauge(nameStateChangeTime),
		nextProbe:         m.observedGauge(nameNextProbeTime),
		failureRatio:      m.observedGauge(nameFailureRatio),
		failureRatioLimit: m.observedGauge(nameFailureRatioLimit),
		cooldown:          m.observedGauge(nameCooldown),
		windowCalls:       m.observedCount(nameWindowCalls),
		layerInfo:         m.observedCount(nameLayerInfo),
		buildInfo:         m.observedCount(nameBuildInfo),
		budgetAvailable:   m.observedCount(nameBudgetAvailable),
		budgetLimit:       m.observedCount(nameBudgetLimit),
		droppedEvents:     m.observedCounter(nameDroppedEvents),
		handlerPanics:     m.observedCounter(nameHandlerPanics),
	}
}

// observe reads the sources of bus at each collection.
func (a *adapter) observe(bus *events.Bus, meter metric.Meter) (cancel func()) {
	o := newObserved(meter)
	build := metric.WithAttributes(attribute.String(keyVersion, version()))
	registration, err := meter.RegisterCallback(func(ctx context.Context, to metric.Observer) error {
		a.zero(context.WithoutCancel(ctx)) // it is done once
		a.read(bus).report(o, to)
		to.ObserveInt64(o.buildInfo, 1, build)
		return nil
	}, o.executionActive, o.state, o.limit, o.usage, o.queued, o.stateTime, o.stateChange, o.nextProbe, o.failureRatio,
		o.failureRatioLimit, o.cooldown, o.windowCalls, o.layerInfo, o.buildInfo, o.budgetAvailable, o.budgetLimit, o.droppedEvents, o.handlerPanics)
	if err != nil {
		otel.Handle(fmt.Errorf("otelres: reading at collection: %w", err))
	}
	if registration == nil {
		return func() {}
	}
	return func() {
		if err := registration.Unregister(); err != nil {
			otel.Handle(fmt.Errorf("otelres: detach: %w", err))
		}
	}
}
