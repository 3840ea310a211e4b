package stories_test

import (
	"context"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// Restart-tolerant call: a nightly job asks a service that is restarted now and then. It has time. The breaker stands
// inside the retry, so that it opens at the second failure; RetryRejections waits until it lets a probe through instead
// of giving up. A turn that the breaker refuses counts as an attempt: MaxAttempts has to leave room for them, and
// MaxDelay must not be below the cooldown.
func Example_restartTolerantCall() {
	ctx := context.Background()
	service := &remote{down: 3} // it is being restarted
	report := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "report.fetch",
		Layers: []resilience.Layer{
			resilience.Retry{MaxAttempts: 10, Backoff: resilience.NoDelay, RetryRejections: true},
			resilience.MustBreaker(resilience.BreakerConfig{
				Name: "report", ConsecutiveFailures: 2, Cooldown: 2 * time.Millisecond,
			}),
			resilience.Timeout{After: time.Second},
		},
	})

	answer, err := report.Do(ctx, service.get)

	fmt.Println(answer, err, "after", service.calls, "calls")
	// Output: pong <nil> after 4 calls
}
