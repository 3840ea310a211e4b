package resilience_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

func ExampleFallbackValue() {
	fetch := func(context.Context) ([]string, error) { return nil, errors.New("no answer") }
	recommended, err := resilience.Do(context.Background(), fetch, resilience.FallbackValue([]string{"bestsellers"}))
	fmt.Println(recommended, err)
	// Output: [bestsellers] <nil>
}

func ExampleFallbackTo() {
	cache := map[string]int{"EUR/USD": 107}
	bus := events.NewBus()
	bus.Execution.SubscribeEnds(func(_ context.Context, e events.ExecutionFinished) {
		fmt.Println(e.Key, "is a", e.Outcome)
	})
	rates := resilience.MustPipeline(resilience.PipelineConfig[int]{
		Name: "rates", Bus: bus,
		Layers: []resilience.Layer{
			resilience.FallbackTo(func(ctx context.Context, _ int, err error) (int, error) {
				if rate, ok := cache[resilience.CallKey(ctx)]; ok {
					return rate, nil
				}
				return 0, err // nothing better: the failure stands
			}),
			resilience.Retry{Backoff: resilience.NoDelay},
		},
	})
	down := func(context.Context) (int, error) { return 0, errors.New("no answer") }
	fmt.Println(rates.DoKey(context.Background(), "EUR/USD", down))
	delete(cache, "EUR/USD")
	fmt.Println(rates.DoKey(context.Background(), "EUR/USD", down))
	// Output:
	// EUR/USD is a fallback
	// 107 <nil>
	// EUR/USD is a failure
	// 0 no answer
}

// If keeps the fallback to failures that another answer mends.
func ExampleFallback() {
	empty := resilience.Fallback[string]{
		Name: "empty_cart",
		To:   func(context.Context, string, error) (string, error) { return "empty cart", nil },
		If:   resilience.IsTransient,
	}
	ctx := context.Background()
	fmt.Println(resilience.Do(ctx, func(context.Context) (string, error) { return "", context.DeadlineExceeded }, empty))
	fmt.Println(resilience.Do(ctx, func(context.Context) (string, error) { return "", errors.New("no such customer") }, empty))
	// Output:
	// empty cart <nil>
	//  no such customer
}
