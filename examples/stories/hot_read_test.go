package stories_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// Fail-fast hot read: every page asks for recommendations, thousands of times a second, and a page without them is
// still a page. Nothing waits and nothing is repeated: a short timeout, a bulkhead so that a slow service cannot hold
// all the memory, and a breaker so that a dead one costs nothing. What the page shows instead is decided where the
// error arrives.
func Example_failFastHotRead() {
	ctx := context.Background()
	service := &remote{down: always}
	recommendations := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "recommendations.get",
		Layers: []resilience.Layer{
			resilience.MustBulkhead(resilience.BulkheadConfig{Name: "recommendations", MaxConcurrent: 200}),
			resilience.MustBreaker(resilience.BreakerConfig{Name: "recommendations", ConsecutiveFailures: 2, Cooldown: 30 * time.Second}),
			resilience.Timeout{After: 50 * time.Millisecond},
		},
	})

	page := func() string {
		shown, err := recommendations.Do(ctx, service.get)
		if resilience.KindOf(err).Transient() || errors.Is(err, errDown) {
			return "bestsellers"
		}
		return shown
	}
	for range 1000 {
		page()
	}

	fmt.Println(page(), "after", service.calls, "calls of the service")
	// Output: bestsellers after 2 calls of the service
}
