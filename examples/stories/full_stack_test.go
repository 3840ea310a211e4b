package stories_test

import (
	"context"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// The canonical full stack: who does not know better takes all layers in this order. What is outside sees whole calls,
// what is inside each attempt: room for the call, its time, repetition, then, for each attempt, the breaker and the
// attempt's time.
func Example_canonicalFullStack() {
	ctx := context.Background()
	accounts := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "accounts.get",
		Layers: []resilience.Layer{
			resilience.MustBulkhead(resilience.BulkheadConfig{Name: "accounts", MaxConcurrent: 64, MaxQueue: 16, MaxWait: 100 * time.Millisecond}),
			resilience.Timeout{Name: "total", After: 3 * time.Second},
			resilience.Retry{Backoff: resilience.Exponential{Base: time.Millisecond}, If: resilience.IsTransient},
			resilience.MustBreaker(resilience.BreakerConfig{Name: "accounts-api", FailureRatio: 0.5}),
			resilience.Timeout{Name: "attempt", After: time.Second},
		},
	})

	answer, err := accounts.Do(ctx, func(ctx context.Context) (string, error) {
		if resilience.AttemptNumber(ctx) < 3 {
			return "", context.DeadlineExceeded // a driver's own limit: transient
		}
		return "pong", nil
	})
	fmt.Println(answer, err)

	for _, l := range accounts.Describe().Layers {
		fmt.Println(l.Position, l.Name, l.Type, l.Settings[0])
	}
	// Output:
	// pong <nil>
	// 0 accounts bulkhead {max_concurrent 64}
	// 1 total timeout {after 3s}
	// 2 retry retry {max_attempts 3}
	// 3 accounts-api circuit_breaker {failure_ratio 0.5}
	// 4 attempt timeout {after 1s}
}
