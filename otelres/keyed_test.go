package otelres_test

import (
	"testing"

	"github.com/telltale-go/telltale/events"
)

// One source may stand for many breakers: those of a Keyed layer.
func TestTheBreakersOfAKeyedAreCountedByState(t *testing.T) {
	r := newRig(t)
	r.breaker("host", func() events.BreakerReading { return events.BreakerReading{State: events.StateOpen} })
	r.breaker("host", func() events.BreakerReading {
		b := events.BreakerReading{State: events.StateOpen}
		b.In[events.StateOpen], b.In[events.StateClosed] = 2, 40
		return b
	})
	for state, want := range map[events.State]float64{events.StateOpen: 3, events.StateClosed: 40, events.StateHalfOpen: 0} {
		if got := r.value("resilience.circuit_breaker.state", "resilience.layer.name", "host", "resilience.circuit_breaker.state", state.String()); got != want {
			t.Errorf("%v: %v, want %v", state, got, want)
		}
	}
}
