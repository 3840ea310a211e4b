package stories_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/telltale-go/telltale/resilience"
)

// Backend-friendly write: a document store that is in trouble needs air more than we need our writes. The breaker
// stands outside the retry and counts whole calls: once two writes have failed with all their attempts, nothing is sent
// until the cooldown has passed. Until then up to two times three attempts get through; inside the retry the breaker
// would open after two.
func Example_backendFriendlyWrite() {
	ctx := context.Background()
	store := &remote{down: always}
	breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "documents", ConsecutiveFailures: 2})
	write := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "documents.put",
		Layers: []resilience.Layer{
			breaker,
			resilience.Retry{MaxAttempts: 3, Backoff: resilience.NoDelay},
			resilience.Timeout{},
		},
	})

	for range 5 {
		err := write.Run(ctx, store.ping)
		fmt.Println("refused:", errors.Is(err, resilience.ErrBreakerOpen), "calls so far:", store.calls)
	}
	// Output:
	// refused: false calls so far: 3
	// refused: false calls so far: 6
	// refused: true calls so far: 6
	// refused: true calls so far: 6
	// refused: true calls so far: 6
}
