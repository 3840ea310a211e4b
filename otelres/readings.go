package otelres

import (
	"context"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/events"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// readings is what the live sources say at one collection. Sources with equal names share series: what adds up is added,
// of the rest the greatest is told.
type readings struct {
	active   map[string]int64 // by pipeline
	infos    map[attribute.Distinct]metric.MeasurementOption
	breakers map[string]*breakers              // by layer
	limiters map[string]*events.LimiterReading // by layer
	budgets  map[string]*events.BudgetReading  // by name
	counted  []*events.Subscriber
}

// breakers is what the breakers of one name say.
type breakers struct {
	inState []int64         // by events.State
	spent   []time.Duration // by events.State
	calls   int64

	stateChange, nextProbe, failureRatio, limit, cooldown float64
}

// zero makes the counters of new sources exist, where they can: it is called at collections, when an SDK is there.
func (a *adapter) zero(ctx context.Context) {
	for s := range a.sources.All {
		s.zeroing.Do(func() {
			if s.pipeline != nil {
				s.pipeline.zero(ctx)
			} else {
				s.layer.zero(ctx)
			}
		})
	}
}

func (a *adapter) read(bus *events.Bus) *readings {
	r := &readings{
		active:   map[string]int64{},
		infos:    map[attribute.Distinct]metric.MeasurementOption{},
		breakers: map[string]*breakers{},
		limiters: map[string]*events.LimiterReading{},
		budgets:  map[string]*events.BudgetReading{},
		counted:  bus.Subscribers(),
	}
	for s := range a.sources.All {
		switch {
		case s.pipeline != nil:
			r.active[s.pipeline.name] += s.pipeline.active.Load()
		case s.layer.info != nil:
			r.infos[s.layer.info.Equivalent()] = metric.WithAttributeSet(*s.layer.info)
		}
	}
	for _, s := range bus.Sources() {
		if kept := a.sources.Get(s); kept != nil && kept.layer != nil && kept.layer.time != nil {
			if b, ok := guarded(s, s.Breaker); ok {
				r.addBreaker(s.Layer(), b, a.stateTimes.add(kept.layer.time, b.Spent[:]))
			}
		}
		if l, ok := guarded(s, s.Limiter); ok {
			r.addLimiter(s.Layer(), l)
		}
		if b, ok := guarded(s, s.Budget); ok {
			r.addBudget(s.Layer(), b)
		}
	}
	return r
}

// guarded reads a source's state. A panic there must not end the SDK's goroutine.
func guarded[R any](s *events.Source, read func() (R, bool)) (r R, ok bool) {
	defer func() {
		if v := recover(); v != nil {
			otel.Handle(fmt.Errorf("otelres: reading the state of %s panicked with a %T", s.Layer(), v))
			ok = false
		}
	}()
	return read()
}

func (r *readings) addBreaker(name string, b events.BreakerReading, spent []time.Duration) {
	sum := r.breakers[name]
	if sum == nil {
		sum = &breakers{inState: make([]int64, len(events.States())+1)}
		r.breakers[name] = sum
	}
	if b.In != [len(b.In)]int64{} {
		for state, n := range b.In {
			sum.inState[state] += n
		}
	} else if int(b.State) < len(sum.inState) {
		sum.inState[b.State]++
	}
	sum.spent = spent
	sum.calls += b.Calls
	sum.stateChange = max(sum.stateChange, unix(b.Since))
	sum.nextProbe = max(sum.nextProbe, unix(b.NextProbe))
	sum.failureRatio = max(sum.failureRatio, b.FailureRatio)
	sum.limit = max(sum.limit, b.Limit)
	sum.cooldown = max(sum.cooldown, b.Cooldown.Seconds())
}

func (r *readings) addLimiter(name string, l events.LimiterReading) {
	sum := r.limiters[name]
	if sum == nil {
		sum = new(events.LimiterReading)
		r.limiters[name] = sum
	}
	sum.Limit += l.Limit
	sum.Usage += l.Usage
	sum.Queued += l.Queued
}

func (r *readings) addBudget(name string, b events.BudgetReading) {
	sum := r.budgets[name]
	if sum == nil {
		sum = new(events.BudgetReading)
		r.budgets[name] = sum
	}
	sum.Available += b.Available
	sum.Limit += b.Limit
}

// unix returns a time as Unix seconds, 0 for none.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / 1e9
}

func (r *readings) report(o *observed, to metric.Observer) {
	for pipeline, n := range r.active {
		to.ObserveInt64(o.executionActive, n, metric.WithAttributes(attribute.String(events.KeyPipelineName, pipeline)))
	}
	for _, info := range r.infos {
		to.ObserveInt64(o.layerInfo, 1, info)
	}
	for name, b := range r.breakers {
		layer := attribute.String(events.KeyLayerName, name)
		b.report(o, to, layer)
	}
	for name, l := range r.limiters {
		layer := metric.WithAttributes(attribute.String(events.KeyLayerName, name))
		to.ObserveInt64(o.limit, l.Limit, layer)
		to.ObserveInt64(o.usage, l.Usage, layer)
		to.ObserveInt64(o.queued, l.Queued, layer)
	}
	for name, b := range r.budgets {
		budget := metric.WithAttributes(attribute.String(events.KeyLayerName, name))
		to.ObserveInt64(o.budgetAvailable, b.Available, budget)
		to.ObserveInt64(o.budgetLimit, b.Limit, budget)
	}
	for _, s := range r.counted {
		by := metric.WithAttributes(attribute.String(keyBusSubscriber, s.Name()))
		to.ObserveInt64(o.droppedEvents, int64(s.Dropped()), by)
		to.ObserveInt64(o.handlerPanics, int64(s.HandlerPanics()), by)
	}
}

func (b *breakers) report(o *observed, to metric.Observer, layer attribute.KeyValue) {
	for _, s := range events.States() {
		state := metric.WithAttributes(layer, attribute.String(events.KeyState, s.String()))
		to.ObserveInt64(o.state, b.inState[s], state)
		to.ObserveFloat64(o.stateTime, b.spent[s].Seconds(), state)
	}
	of := metric.WithAttributes(layer)
	to.ObserveFloat64(o.stateChange, b.stateChange, of)
	to.ObserveFloat64(o.nextProbe, b.nextProbe, of)
	to.ObserveFloat64(o.failureRatio, b.failureRatio, of)
	to.ObserveFloat64(o.failureRatioLimit, b.limit, of)
	to.ObserveFloat64(o.cooldown, b.cooldown, of)
	to.ObserveInt64(o.windowCalls, b.calls, of)
}
