package stories_test

import (
	"context"
	"fmt"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// A key per tenant: one tenant's import must not take all the workers. DoKey names the tenant, and a Keyed has a bulkhead for
// each; those of tenants that are idle are forgotten. The events have the key, so that a listener can tell whom it hit.
// (Adapters leave keys out unless asked: a key may be personal, and no metric label is big enough for all of them. In the
// metrics all bulkheads add up under the layer's name.)
func Example_keyPerTenant() {
	ctx := context.Background()
	bus := events.NewBus()
	bus.CallRejected.Subscribe(func(_ context.Context, e events.CallRejected) {
		fmt.Println("refused:", e.Key, e.Source.Layer(), e.Reason)
	})
	fair := resilience.MustKeyed(resilience.KeyedConfig{
		Name: "per_tenant", Bus: bus,
		New: func(tenant string) (resilience.Gate, error) {
			cfg := resilience.BulkheadConfig{Name: "per_tenant", MaxConcurrent: 1, Bus: events.Off()}
			if tenant == "tenant:initech" { // pays for more
				cfg.MaxConcurrent = 10
			}
			return resilience.NewBulkhead(cfg)
		},
	})
	imports := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "import", Bus: bus,
		Layers: []resilience.Layer{fair},
	})

	_, _ = imports.DoKey(ctx, "tenant:acme", func(context.Context) (string, error) {
		// while that import runs, two more arrive
		_, err := imports.DoKey(ctx, "tenant:acme", (&remote{}).get)
		fmt.Println("acme:", resilience.KindOf(err))
		_, err = imports.DoKey(ctx, "tenant:globex", (&remote{}).get)
		fmt.Println("globex:", resilience.KindOf(err))
		return "", nil
	})
	fmt.Println(fair)
	// Output:
	// refused: tenant:acme per_tenant full
	// acme: limited
	// globex: ok
	// per_tenant by key (2 of 10000)
}
