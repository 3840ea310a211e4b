package otelres

import (
	"fmt"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/names"
	"github.com/telltale-go/telltale/internal/readings"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// timeOf returns what is kept of a breaker's source, nil for others.
func (a *adapter) timeOf(s *events.Source) *readings.Time {
	if kept := a.sources.Get(s); kept != nil && kept.layer != nil {
		return kept.layer.time
	}
	return nil
}

// read tells what the live sources say at one collection, and what the bus counts. A reading that panics must not end the
// SDK's goroutine.
func (a *adapter) read(o *observed, to metric.Observer) {
	active, infos := map[string]int64{}, map[attribute.Distinct]metric.MeasurementOption{}
	for s := range a.sources.All {
		switch {
		case s.pipeline != nil:
			active[s.pipeline.name] += s.pipeline.active.Load()
		case s.layer.info != nil:
			infos[s.layer.info.Equivalent()] = metric.WithAttributeSet(*s.layer.info)
		}
	}
	for pipeline, n := range active {
		to.ObserveInt64(o.executionActive, n, metric.WithAttributes(attribute.String(events.KeyPipelineName, pipeline)))
	}
	for _, info := range infos {
		to.ObserveInt64(o.layerInfo, 1, info)
	}
	o.report(to, a.readings.Read(func(s *events.Source, panicked any) {
		otel.Handle(fmt.Errorf("otelres: reading the state of %s panicked with a %T", s.Layer(), panicked))
	}))
	for _, s := range a.readings.Bus.Subscribers() {
		by := metric.WithAttributes(attribute.String(names.KeyBusSubscriber, s.Name()))
		to.ObserveInt64(o.droppedEvents, int64(s.Dropped()), by)
		to.ObserveInt64(o.handlerPanics, int64(s.HandlerPanics()), by)
	}
}

func (o *observed) report(to metric.Observer, r *readings.Reading) {
	for name, b := range r.Breakers {
		o.breaker(to, attribute.String(events.KeyLayerName, name), b)
	}
	for name, l := range r.Limiters {
		layer := metric.WithAttributes(attribute.String(events.KeyLayerName, name))
		to.ObserveInt64(o.limit, l.Limit, layer)
		to.ObserveInt64(o.usage, l.Usage, layer)
		to.ObserveInt64(o.queued, l.Queued, layer)
	}
	for name, b := range r.Budgets {
		budget := metric.WithAttributes(attribute.String(events.KeyLayerName, name))
		to.ObserveInt64(o.budgetAvailable, b.Available, budget)
		to.ObserveInt64(o.budgetLimit, b.Limit, budget)
	}
	for _, k := range r.Keys {
		o.key(to, k)
	}
}

func (o *observed) breaker(to metric.Observer, layer attribute.KeyValue, b *readings.Breakers) {
	for _, s := range events.States() {
		state := metric.WithAttributes(layer, attribute.String(events.KeyState, s.String()))
		to.ObserveInt64(o.state, b.In[s], state)
		to.ObserveFloat64(o.stateTime, b.Spent[s].Seconds(), state)
	}
	of := metric.WithAttributes(layer)
	to.ObserveFloat64(o.stateChange, b.StateChange, of)
	to.ObserveFloat64(o.nextProbe, b.NextProbe, of)
	to.ObserveFloat64(o.failureRatio, b.FailureRatio, of)
	to.ObserveFloat64(o.failureRatioLimit, b.Limit, of)
	to.ObserveFloat64(o.cooldown, b.Cooldown, of)
	to.ObserveInt64(o.windowCalls, b.Calls, of)
}

func (o *observed) key(to metric.Observer, k readings.Key) {
	layer, key := attribute.String(events.KeyLayerName, k.Layer), attribute.String(names.KeyKey, k.Key)
	for r, n := range k.Rejections {
		to.ObserveInt64(o.keyedRejections, n, metric.WithAttributes(layer, key, attribute.String(events.KeyReason, textOf(r))))
	}
	if k.In != nil {
		for _, s := range events.States() {
			of := metric.WithAttributes(layer, key, attribute.String(events.KeyState, s.String()))
			to.ObserveInt64(o.keyedState, k.In[s], of)
		}
	}
	if k.Limiter != nil {
		of := metric.WithAttributes(layer, key)
		to.ObserveInt64(o.keyedLimit, k.Limiter.Limit, of)
		to.ObserveInt64(o.keyedUsage, k.Limiter.Usage, of)
		to.ObserveInt64(o.keyedQueued, k.Limiter.Queued, of)
	}
}
