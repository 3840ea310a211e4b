package promres

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/readings"
)

// breaker is what the state of a circuit breaker counts into.
type breaker struct {
	transitions []*family[prometheus.Counter] // by the state entered, then reason
	time        *readings.Time
}

// openBreaker makes what a breaker's state counts into. What may be published starts at zero.
func (a *adapter) openBreaker(r *row, s *events.Source) *breaker {
	name := label(s.Layer())
	b := &breaker{time: a.times.Open(name)}
	for state := range len(events.States()) + 1 {
		b.transitions = append(b.transitions, newFamily(r, a.metrics.breakerTransitions, len(events.Reasons())+1, func(reason int) []string {
			return []string{name, enumLabel[events.State](state), enumLabel[events.Reason](reason)}
		}))
	}
	for _, t := range events.Transitions() {
		b.transitions[t.To].at(int(t.Reason))
	}
	return b
}

func (a *adapter) breakerStateChanged(_ context.Context, e events.BreakerStateChanged) {
	r := a.row(&e.Meta)
	if r == nil || r.breaker == nil {
		return
	}
	to := int(e.To)
	if to >= len(r.breaker.transitions) {
		to = 0
	}
	r.breaker.transitions[to].at(int(e.Reason)).Inc()
}
