package promres

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/names"
	"github.com/telltale-go/telltale/internal/readings"
)

// timeOf returns what is kept of a breaker's source, nil for others.
func (a *adapter) timeOf(s *events.Source) *readings.Time {
	if r := a.rows.Get(s); r != nil && r.breaker != nil {
		return r.breaker.time
	}
	return nil
}

// read makes the series of what breakers, limiters and budgets tell of themselves now, and of what the bus counts. No lock
// of ours is held meanwhile. A reading that panics spoils the scrape, which shows it, and not the process.
func (a *adapter) read() (all []prometheus.Metric) {
	m := a.metrics
	add := func(i names.ID, value float64, labels ...string) { all = append(all, m.read(i, value, labels...)) }
	r := a.readings.Read(func(s *events.Source, _ any) {
		err := fmt.Errorf("promres: the reading of layer %q panicked", label(s.Layer()))
		all = append(all, prometheus.NewInvalidMetric(m.descs[names.BreakerState], err))
	})
	for name, b := range r.Breakers {
		for _, state := range events.States() {
			add(names.BreakerState, float64(b.In[state]), name, state.String())
			add(names.BreakerStateTime, b.Spent[state].Seconds(), name, state.String())
		}
		add(names.BreakerStateChangeTime, b.StateChange, name)
		add(names.BreakerNextProbeTime, b.NextProbe, name)
		add(names.BreakerFailureRatio, b.FailureRatio, name)
		add(names.BreakerFailureRatioLimit, b.Limit, name)
		add(names.BreakerWindowCalls, float64(b.Calls), name)
		add(names.BreakerCooldown, b.Cooldown, name)
	}
	for name, l := range r.Limiters {
		add(names.LimiterLimit, float64(l.Limit), name)
		add(names.LimiterUsage, float64(l.Usage), name)
		add(names.LimiterQueued, float64(l.Queued), name)
	}
	for name, b := range r.Budgets {
		add(names.BudgetAvailable, float64(b.Available), name)
		add(names.BudgetLimit, float64(b.Limit), name)
	}
	for _, k := range r.Keys {
		addKey(add, k)
	}
	for _, s := range a.bus.Subscribers() {
		add(names.DroppedEvents, float64(s.Dropped()), label(s.Name()))
		add(names.HandlerPanics, float64(s.HandlerPanics()), label(s.Name()))
	}
	return all
}

func addKey(add func(i names.ID, value float64, labels ...string), k readings.Key) {
	for reason, n := range k.Rejections {
		add(names.KeyedRejections, float64(n), k.Layer, k.Key, enumLabel[events.Reason](int(reason)))
	}
	if k.In != nil {
		for _, state := range events.States() {
			add(names.KeyedBreakerState, float64(k.In[state]), k.Layer, k.Key, state.String())
		}
	}
	if k.Limiter != nil {
		add(names.KeyedLimiterLimit, float64(k.Limiter.Limit), k.Layer, k.Key)
		add(names.KeyedLimiterUsage, float64(k.Limiter.Usage), k.Layer, k.Key)
		add(names.KeyedLimiterQueued, float64(k.Limiter.Queued), k.Layer, k.Key)
	}
}
