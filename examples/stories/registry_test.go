package stories_test

import (
	"context"
	"fmt"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// The wiring of a big service is spread over packages. Each registers what it makes; who needs another's breaker, or
// lists all there is on an admin page, asks by name. A slip is told with what there is.
func Example_registry() {
	bus := events.NewBus()
	registry := resilience.NewRegistry()
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "payments-db", Bus: bus})
	payments := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "payments.get", Layers: []resilience.Layer{db, resilience.Timeout{}}, Bus: bus,
	})
	if err := registry.Register(db, payments); err != nil {
		fmt.Println(err)
	}

	// elsewhere
	found, err := resilience.Lookup[*resilience.Breaker](registry, "payments-db")
	fmt.Println(found.State(), err)
	_, err = resilience.Lookup[*resilience.Breaker](registry, "payment-db")
	fmt.Println(err)

	second := resilience.MustBreaker(resilience.BreakerConfig{Name: "payments-db", Bus: bus})
	fmt.Println(registry.Register(second))

	_ = payments.Close(context.Background())
	for _, e := range registry.All() {
		fmt.Println(e.Name, e.Type)
	}
	// Output:
	// closed <nil>
	// resilience: no *resilience.Breaker named "payment-db" is registered; registered are payments-db (*resilience.Breaker), payments.get (*resilience.Pipeline[string])
	// resilience.Registry.Name = "payments-db": must be that of one circuit_breaker only; registered are payments-db (*resilience.Breaker), payments.get (*resilience.Pipeline[string])
	// payments-db circuit_breaker
}
