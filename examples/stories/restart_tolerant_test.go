package stories_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// Restart-tolerant call: a nightly job asks a service that is restarted now and then. It has time. The breaker stands
// inside the retry, so that it opens at the second failure, for whoever else uses it; RetryRejections has the job wait
// until a probe is let through instead of giving up. A turn that the breaker refuses counts as an attempt: MaxAttempts
// has to leave room for them, and MaxDelay must not be below the cooldown.
//
// Not for requests that somebody waits for: they had better hear of the open breaker at once.
func Example_restartTolerantCall() {
	breaker := func(name string) *resilience.Breaker {
		return resilience.MustBreaker(resilience.BreakerConfig{
			Name: name, ConsecutiveFailures: 2, Cooldown: 2 * time.Millisecond, // seconds in a real service
		})
	}
	ctx := context.Background()

	report := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "report.fetch",
		Layers: []resilience.Layer{
			resilience.Retry{MaxAttempts: 10, Backoff: resilience.NoDelay, RetryRejections: true},
			breaker("report"),
			resilience.Timeout{After: time.Second},
		},
	})
	service := &remote{down: 4} // it is being restarted
	answer, err := report.Do(ctx, service.get)
	fmt.Println("patient:", answer, err, "after", service.calls, "calls")

	impatient := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "report.peek",
		Layers: []resilience.Layer{
			resilience.Retry{MaxAttempts: 10, Backoff: resilience.NoDelay},
			breaker("report-peek"),
			resilience.Timeout{After: time.Second},
		},
	})
	service = &remote{down: 4}
	_, err = impatient.Do(ctx, service.get)
	fmt.Println("without RetryRejections refused:", errors.Is(err, resilience.ErrBreakerOpen), "after", service.calls, "calls")
	// Output:
	// patient: pong <nil> after 5 calls
	// without RetryRejections refused: true after 2 calls
}
