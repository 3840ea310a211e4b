package stories_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// fairness is a bulkhead for each key.
type fairness struct {
	each int

	mu      sync.Mutex // guards what follows
	running map[string]int
}

func (f *fairness) LayerInfo() resilience.LayerInfo {
	return resilience.LayerInfo{Name: "per_tenant", Type: "fairness"}
}

func (f *fairness) Admit(_ context.Context, call resilience.Call) (resilience.Permit, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[call.Key()] == f.each {
		return resilience.Permit{}, resilience.Reject(events.ReasonFull, 0)
	}
	f.running[call.Key()]++
	return resilience.Permit{}, nil
}

func (f *fairness) Settle(_ context.Context, call resilience.Call, _ resilience.Permit, _ resilience.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[call.Key()]--; f.running[call.Key()] == 0 {
		delete(f.running, call.Key())
	}
}

// A key per tenant: one tenant's import must not take all the workers. DoKey names the tenant, the gate admits so many
// calls of each, and the events have the key, so that a listener can tell whom it hit. (Adapters leave keys out: a key
// may be personal, and no metric label is big enough for all of them.)
func Example_keyPerTenant() {
	ctx := context.Background()
	bus := events.NewBus()
	bus.CallRejected.Subscribe(func(_ context.Context, e events.CallRejected) {
		fmt.Println("refused:", e.Key, e.Source.Layer(), e.Reason)
	})
	imports := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "import", Bus: bus,
		Layers: []resilience.Layer{&fairness{each: 1, running: map[string]int{}}},
	})

	_, _ = imports.DoKey(ctx, "tenant:acme", func(context.Context) (string, error) {
		// while that import runs, two more arrive
		_, err := imports.DoKey(ctx, "tenant:acme", (&remote{}).get)
		fmt.Println("acme:", resilience.KindOf(err))
		_, err = imports.DoKey(ctx, "tenant:globex", (&remote{}).get)
		fmt.Println("globex:", resilience.KindOf(err))
		return "", nil
	})
	// Output:
	// refused: tenant:acme per_tenant full
	// acme: limited
	// globex: ok
}
