package resilience_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

func ExampleSingleflight() {
	flights := resilience.MustSingleflight(resilience.SingleflightConfig{})
	bus := events.NewBus()
	var joined sync.WaitGroup
	joined.Add(3)
	bus.FlightJoined.Subscribe(func(context.Context, events.FlightJoined) { joined.Done() })
	users := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "users.one", Bus: bus,
		Layers: []resilience.Layer{flights, resilience.Timeout{After: time.Second}, resilience.Retry{}},
	})

	fetch := func(context.Context) (string, error) {
		joined.Wait() // until all three have come
		fmt.Println("fetching,", flights.InFlight(), "in flight")
		return "Ada", nil
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			user, err := users.DoKey(context.Background(), "user:17", fetch)
			fmt.Println(user, err)
		})
	}
	all.Wait()
	fmt.Println(flights.InFlight(), "in flight")
	// Output:
	// fetching, 1 in flight
	// Ada <nil>
	// Ada <nil>
	// Ada <nil>
	// 0 in flight
}

type tenantKey struct{}

// The key can come from the context: here each tenant has its own answer.
func ExampleSingleflightConfig() {
	prices := resilience.MustPipeline(resilience.PipelineConfig[int]{
		Name: "prices.all",
		Layers: []resilience.Layer{
			resilience.MustSingleflight(resilience.SingleflightConfig{
				Name: "per_tenant",
				Key:  func(ctx context.Context) string { tenant, _ := ctx.Value(tenantKey{}).(string); return tenant },
			}),
		},
	})
	ctx := context.WithValue(context.Background(), tenantKey{}, "acme")
	fmt.Println(prices.Do(ctx, func(ctx context.Context) (int, error) { return len(ctx.Value(tenantKey{}).(string)), nil }))
	// Output: 4 <nil>
}
