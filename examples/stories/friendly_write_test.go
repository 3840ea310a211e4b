package stories_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/telltale-go/telltale/resilience"
)

// Backend-friendly write: a document store that is in trouble needs air more than we need our writes. The breaker stands
// outside the retry and judges whole calls: a blip that another attempt mends is no failure and opens nothing, but once
// two writes have failed with all their attempts no write begins until the cooldown has passed, and none waits for its
// end. Until then two times three attempts get through, and a probe is a whole call, too.
//
// Not for a dependency that many processes call: there the attempts before it opens, three times as many as inside the
// retry, are the burden, and writes that had begun by then still make all of theirs. Then put the breaker inside, or share
// a RetryBudget.
func Example_backendFriendlyWrite() {
	ctx := context.Background()
	breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "documents", ConsecutiveFailures: 2})
	write := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "documents.put",
		Layers: []resilience.Layer{
			breaker, // outside the retry: it counts writes, not attempts
			resilience.Retry{MaxAttempts: 3, Backoff: resilience.NoDelay},
			resilience.Timeout{},
		},
	})

	store := &remote{}
	for range 10 {
		store.down = 2 // each write needs its third attempt
		if err := write.Run(ctx, store.ping); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("ten writes with blips:", store.calls, "calls, the breaker is", breaker.State())

	store = &remote{down: always}
	for range 5 {
		err := write.Run(ctx, store.ping)
		fmt.Println("refused:", errors.Is(err, resilience.ErrBreakerOpen), "calls so far:", store.calls)
	}
	// Output:
	// ten writes with blips: 30 calls, the breaker is closed
	// refused: false calls so far: 3
	// refused: false calls so far: 6
	// refused: true calls so far: 6
	// refused: true calls so far: 6
	// refused: true calls so far: 6
}
