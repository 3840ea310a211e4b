package promres

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

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

// PROM-02, BUS-12: keys are no labels unless asked for, and then up to a limit; those that are forgotten take their series
// along.
func TestKeysHaveSeriesWhereAskedFor(t *testing.T) {
	for _, limit := range []int{0, 1} {
		r := newRig(t, Config{Keys: limit})
		keys := []events.KeyReading{
			{Key: "a", Breaker: &events.BreakerReading{State: events.StateOpen}, Limiter: &events.LimiterReading{Limit: 5, Usage: 4, Queued: 3}},
			{Breaker: &events.BreakerReading{State: events.StateClosed}},
		}
		hosts := r.bus.NewSource(events.SourceSpec{Layer: "hosts", Type: events.TypeBreaker, Keys: func(yield func(events.KeyReading) bool) {
			_ = !yield(keys[0]) || len(keys) > 1 && !yield(keys[1])
		}})
		p := r.bus.NewSource(events.SourceSpec{Pipeline: "p", Type: events.TypePipeline, Layers: []events.SourceSpec{
			{Pipeline: "p", Layer: "hosts", Type: events.TypeBreaker, Shared: hosts}}})
		r.kept = append(r.kept, hosts, p)
		for _, key := range []string{"a", "a", "b", ""} {
			r.bus.CallRejected.Publish(t.Context(), events.CallRejected{Meta: events.Meta{Source: p.Layers()[0], Key: key}, Reason: events.ReasonOpen})
		}
		if limit == 0 {
			for series := range r.scrape() {
				if strings.Contains(series, "keyed") {
					t.Errorf("%s is there, and nobody asked", series)
				}
			}
			continue
		}
		r.want(map[string]float64{
			`keyed_rejections_total{key="a",layer_name="hosts",reason="open"}`:                            2,
			`keyed_rejections_total{key="_OTHER",layer_name="hosts",reason="open"}`:                       2,
			`keyed_rejections_total{key="a",layer_name="hosts",reason="probing"}`:                         0,
			`keyed_circuit_breaker_state{circuit_breaker_state="open",key="a",layer_name="hosts"}`:        1,
			`keyed_circuit_breaker_state{circuit_breaker_state="closed",key="a",layer_name="hosts"}`:      0,
			`keyed_circuit_breaker_state{circuit_breaker_state="closed",key="_OTHER",layer_name="hosts"}`: 1,
			`keyed_limiter_limit{key="a",layer_name="hosts"}`:                                             5,
			`keyed_limiter_usage{key="a",layer_name="hosts"}`:                                             4,
			`keyed_limiter_queued{key="a",layer_name="hosts"}`:                                            3,
		})
		keys = keys[1:]
		for series := range r.scrape() {
			if strings.Contains(series, `key="a"`) {
				t.Errorf("%s is there, and its key is forgotten", series)
			}
		}
		problems, err := testutil.GatherAndLint(r.reg)
		if err != nil || len(problems) != 0 {
			t.Errorf("%v, %v", problems, err)
		}
		r.bus.Remove(hosts)
		r.bus.Remove(p)
		for series := range r.scrape() {
			if strings.Contains(series, "keyed") {
				t.Errorf("%s is there, and its layer is gone", series)
			}
		}
		r.kept = append(r.kept, r.bus.NewSource(events.SourceSpec{Layer: "hosts", Type: events.TypeBreaker, Keys: slices.Values(keys)}))
		r.want(map[string]float64{`keyed_rejections_total{key="_OTHER",layer_name="hosts",reason="open"}`: 0})
	}
}
