package resilience_test

import (
	"context"
	"fmt"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

func ExampleKeyed() {
	perHost := resilience.MustKeyed(resilience.KeyedConfig{
		Name: "per_host",
		New: func(string) (resilience.Gate, error) {
			return resilience.NewBreaker(resilience.BreakerConfig{Name: "host", ConsecutiveFailures: 1, Bus: events.Off()})
		},
	})
	fetch := resilience.MustPipeline(resilience.PipelineConfig[string]{Name: "fetch", Layers: []resilience.Layer{perHost}})

	ctx := context.Background()
	_, err := fetch.DoKey(ctx, "a.example", func(context.Context) (string, error) { return "", fmt.Errorf("a is down") })
	fmt.Println("a:", err)
	_, err = fetch.DoKey(ctx, "a.example", func(context.Context) (string, error) { return "hello", nil })
	fmt.Println("a:", resilience.KindOf(err))
	greeting, err := fetch.DoKey(ctx, "b.example", func(context.Context) (string, error) { return "hello", nil })
	fmt.Println("b:", greeting, err)
	// Output:
	// a: a is down
	// a: unavailable
	// b: hello <nil>
}

func ExampleKeyed_Get() {
	perHost := resilience.MustKeyed(resilience.KeyedConfig{
		Name: "per_host",
		New: func(string) (resilience.Gate, error) {
			return resilience.NewBreaker(resilience.BreakerConfig{Name: "host", Bus: events.Off()})
		},
	})
	ctx := context.Background()
	ping := func(context.Context) error { return nil }
	_ = perHost.RunKey(ctx, "a.example", ping)

	if gate, ok := perHost.Get("a.example"); ok { // take one host out by hand
		gate.(*resilience.Breaker).ForceOpen()
	}
	fmt.Println(perHost.RunKey(ctx, "a.example", ping))
	fmt.Println(perHost.RunKey(ctx, "b.example", ping))
	// Output:
	// resilience: circuit breaker per_host is forced open
	// <nil>
}
