package otelres_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
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

// PROM-02, BUS-12: keys are no attributes unless asked for; those that are forgotten take their series along, counters too.
func TestKeysHaveSeriesWhereAskedFor(t *testing.T) {
	for _, limit := range []int{0, 1} {
		r := newRig(t, func(c *otelres.Config) { c.Keys = limit })
		keys := []events.KeyReading{{Key: "a", Breaker: &events.BreakerReading{State: events.StateOpen}}, {}}
		hosts := r.source(events.SourceSpec{Layer: "hosts", Type: events.TypeBreaker, Keys: func(yield func(events.KeyReading) bool) {
			_ = !yield(keys[0]) || len(keys) > 1 && !yield(keys[1])
		}})
		for _, key := range []string{"a", "a", ""} {
			r.bus.CallRejected.Publish(t.Context(), events.CallRejected{Meta: events.Meta{Source: hosts, Key: key}, Reason: events.ReasonOpen})
		}
		if limit == 0 {
			for name := range r.collect() {
				if strings.HasPrefix(name, "resilience.keyed.") {
					t.Errorf("%s is there, and nobody asked", name)
				}
			}
			continue
		}
		of := []string{"resilience.layer.name", "hosts", "resilience.key", "a"}
		if got := r.value("resilience.keyed.rejections", append(of, "resilience.reason", "open")...); got != 2 {
			t.Errorf("%v calls were refused, want 2", got)
		}
		if got := r.value("resilience.keyed.circuit_breaker.state", append(of, "resilience.circuit_breaker.state", "open")...); got != 1 {
			t.Errorf("%v is open, want 1", got)
		}
		keys = keys[1:]
		for series := range seriesOf(r.collect()["resilience.keyed.rejections"]) {
			if strings.Contains(series, "resilience.key=a") {
				t.Errorf("%s is there, and its key is forgotten", series)
			}
		}
		r.bus.Remove(hosts)
		if left := seriesOf(r.collect()["resilience.keyed.rejections"]); len(left) != 0 {
			t.Errorf("%v is there, and the layer is gone", left)
		}
		r.source(events.SourceSpec{Layer: "hosts", Type: events.TypeBreaker, Keys: slices.Values(keys)})
		if got := r.value("resilience.keyed.rejections", "resilience.layer.name", "hosts", "resilience.key", "_OTHER", "resilience.reason", "open"); got != 0 {
			t.Errorf("another layer of that name begins with %v refusals", got)
		}
	}
}
