package stories_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/promres"
	"github.com/telltale-go/telltale/resilience"
)

// A breaker for each host, and who is on call wants to see which host's is open. Keys asks for series of the first hundred;
// the others would be _OTHER together. Host names are nobody's secret; keys that may be personal stay out of metrics, which
// is what happens without Keys. otelres.Config has the same field.
func Example_metricsByKey() {
	ctx, bus, registry := context.Background(), events.NewBus(), prometheus.NewRegistry()
	defer promres.MustAttach(bus, promres.Config{Registerer: registry, Keys: 100})()

	hosts := resilience.MustKeyed(resilience.KeyedConfig{
		Name: "hosts", Bus: bus,
		New: func(string) (resilience.Gate, error) {
			return resilience.NewBreaker(resilience.BreakerConfig{Name: "host", ConsecutiveFailures: 1, Bus: events.Off()})
		},
	})
	weather := resilience.MustPipeline(resilience.PipelineConfig[string]{Name: "weather.get", Bus: bus, Layers: []resilience.Layer{hosts}})
	_, _ = weather.DoKey(ctx, "eu.example", (&remote{}).get)
	_, _ = weather.DoKey(ctx, "us.example", (&remote{down: 1}).get) // opens
	_, _ = weather.DoKey(ctx, "us.example", (&remote{}).get)        // refused

	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
	}
	var lines []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			switch f.GetName() {
			case "resilience_keyed_circuit_breaker_state":
				if m.GetGauge().GetValue() > 0 {
					lines = append(lines, fmt.Sprint(labels["resilience_key"], " is ", labels["resilience_circuit_breaker_state"]))
				}
			case "resilience_keyed_rejections_total":
				if n := m.GetCounter().GetValue(); n > 0 {
					lines = append(lines, fmt.Sprint(labels["resilience_key"], " refused ", n, ": ", labels["resilience_reason"]))
				}
			}
		}
	}
	slices.Sort(lines)
	for _, l := range lines {
		fmt.Println(l)
	}
	// Output:
	// _OTHER is closed
	// eu.example is closed
	// us.example is open
	// us.example refused 1: open
}
