package promres

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
)

// readings are what breakers, limiters and budgets tell of themselves at one scrape, by name: sources with equal names share a
// series. How many are in a state, calls and limits add up; of the rest the greatest is shown.
type readings struct {
	breakers map[string]*breakers
	limiters map[string]*events.LimiterReading
	budgets  map[string]*events.BudgetReading
	counted  []*events.Subscriber
	failed   []error
}

type breakers struct {
	in                              []int // how many are in each state, by state
	changed, nextProbe, cooldown    float64
	failureRatio, failureRatioLimit float64
	calls                           int64
}

// read asks the live sources. No lock of ours is held meanwhile.
func (a *adapter) read() *readings {
	all := &readings{breakers: map[string]*breakers{}, limiters: map[string]*events.LimiterReading{},
		budgets: map[string]*events.BudgetReading{}, counted: a.bus.Subscribers()}
	for _, s := range a.bus.Sources() {
		a.readSource(all, s)
	}
	return all
}

// readSource asks one source. A reading that panics spoils the scrape, which shows it, and not the process.
func (a *adapter) readSource(all *readings, s *events.Source) {
	defer func() {
		if recover() != nil {
			all.failed = append(all.failed, fmt.Errorf("promres: the reading of layer %q panicked", label(s.Layer())))
		}
	}()
	if l, ok := s.Limiter(); ok {
		all.limiter(label(s.Layer()), l)
	}
	if b, ok := s.Budget(); ok {
		all.budget(label(s.Layer()), b)
	}
	r := a.rows.Get(s)
	if r == nil || r.breaker == nil {
		return
	}
	if b, ok := s.Breaker(); ok {
		a.stateTimes.read(r.breaker, b.Spent)
		all.breaker(r.breaker.name, b)
	}
}

func (r *readings) limiter(name string, l events.LimiterReading) {
	sum := r.limiters[name]
	if sum == nil {
		sum = new(events.LimiterReading)
		r.limiters[name] = sum
	}
	sum.Limit += l.Limit
	sum.Usage += l.Usage
	sum.Queued += l.Queued
}

func (r *readings) budget(name string, b events.BudgetReading) {
	sum := r.budgets[name]
	if sum == nil {
		sum = new(events.BudgetReading)
		r.budgets[name] = sum
	}
	sum.Available += b.Available
	sum.Limit += b.Limit
}

func (r *readings) breaker(name string, b events.BreakerReading) {
	sum := r.breakers[name]
	if sum == nil {
		sum = &breakers{in: make([]int, len(events.States())+1)}
		r.breakers[name] = sum
	}
	if b.In != [len(b.In)]int64{} {
		for state, n := range b.In {
			sum.in[state] += int(n)
		}
	} else if int(b.State) < len(sum.in) {
		sum.in[b.State]++
	}
	sum.changed = max(sum.changed, unixSeconds(b.Since))
	sum.nextProbe = max(sum.nextProbe, unixSeconds(b.NextProbe))
	sum.cooldown = max(sum.cooldown, b.Cooldown.Seconds())
	sum.failureRatio = max(sum.failureRatio, b.FailureRatio)
	sum.failureRatioLimit = max(sum.failureRatioLimit, b.Limit)
	sum.calls += b.Calls
}

// metrics makes the series of the readings.
func (r *readings) metrics(m *metrics, times *stateTimes) []prometheus.Metric {
	var all []prometheus.Metric
	add := func(i id, value float64, labels ...string) { all = append(all, m.read(i, value, labels...)) }
	for name, b := range r.breakers {
		spent := times.of(name)
		for _, state := range events.States() {
			add(breakerState, float64(b.in[state]), name, state.String())
			add(breakerStateTime, spent[state].Seconds(), name, state.String())
		}
		add(breakerStateChangeTime, b.changed, name)
		add(breakerNextProbeTime, b.nextProbe, name)
		add(breakerFailureRatio, b.failureRatio, name)
		add(breakerFailureRatioLimit, b.failureRatioLimit, name)
		add(breakerWindowCalls, float64(b.calls), name)
		add(breakerCooldown, b.cooldown, name)
	}
	for name, l := range r.limiters {
		add(limiterLimit, float64(l.Limit), name)
		add(limiterUsage, float64(l.Usage), name)
		add(limiterQueued, float64(l.Queued), name)
	}
	for name, b := range r.budgets {
		add(retryBudgetAvailable, float64(b.Available), name)
		add(retryBudgetLimit, float64(b.Limit), name)
	}
	for _, s := range r.counted {
		add(busDroppedEvents, float64(s.Dropped()), label(s.Name()))
		add(busHandlerPanics, float64(s.HandlerPanics()), label(s.Name()))
	}
	for _, err := range r.failed {
		all = append(all, prometheus.NewInvalidMetric(m.descs[breakerState], err))
	}
	return all
}

// unixSeconds returns the seconds since 1970, 0 for the zero time.
func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / 1e9
}
