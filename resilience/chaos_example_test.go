package resilience_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/telltale-go/telltale/resilience"
)

func ExampleChaos() {
	outage := resilience.MustChaos(resilience.ChaosConfig{Name: "outage", Rate: 1, Err: errors.New("injected: connection refused")})
	p := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name:   "quotes.get",
		Layers: []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay}, outage},
	})
	get := func() {
		quote, err := p.Do(context.Background(), func(context.Context) (string, error) { return "41.90", nil })
		fmt.Printf("%q %v\n", quote, err)
	}
	get()
	outage.Enable()
	get()
	outage.Disable()
	get()
	// Output:
	// "41.90" <nil>
	// "" injected: connection refused
	// "41.90" <nil>
}
