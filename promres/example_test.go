package promres_test

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/promres"
)

// In main one line is all: defer promres.MustAttach(events.Default(), promres.Config{})(). Here the registry and the bus
// are the example's own, and what package resilience publishes for a call is published by hand.
func ExampleAttach() {
	bus, registry := events.NewBus(), prometheus.NewRegistry()
	detach, err := promres.Attach(bus, promres.Config{Registerer: registry})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer detach()

	users := bus.NewSource(events.SourceSpec{Pipeline: "users.get", Type: events.TypePipeline})
	var ends events.Ends[events.ExecutionFinished]
	bus.Execution.Begin(context.Background(), events.ExecutionStarted{Meta: events.Meta{Source: users}}, &ends)
	ends.Finish(events.ExecutionFinished{Meta: events.Meta{Source: users}, Outcome: events.OutcomeSuccess, Duration: time.Second})

	families, _ := registry.Gather()
	for _, f := range families {
		if f.GetName() == "resilience_executions_total" {
			for _, m := range f.Metric {
				fmt.Println(m.Label[0].GetValue(), m.Counter.GetValue())
			}
		}
	}
	// Output:
	// canceled 0
	// failure 0
	// rejected 0
	// success 1
	// timeout 0
}
