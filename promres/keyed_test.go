package promres

import (
	"testing"

	"github.com/telltale-go/telltale/events"
)

// One source may stand for many breakers: those of a Keyed layer.
func TestTheBreakersOfAKeyedAreCountedByState(t *testing.T) {
	r := newRig(t, Config{})
	one, many := r.breaker("host"), r.breaker("host")
	one.set(func(b *events.BreakerReading) { b.State = events.StateOpen })
	many.set(func(b *events.BreakerReading) {
		b.State = events.StateOpen
		b.In[events.StateOpen], b.In[events.StateClosed] = 2, 40
	})
	r.want(map[string]float64{
		`circuit_breaker_state{circuit_breaker_state="open",layer_name="host"}`:      3,
		`circuit_breaker_state{circuit_breaker_state="closed",layer_name="host"}`:    40,
		`circuit_breaker_state{circuit_breaker_state="half_open",layer_name="host"}`: 0,
	})
}
