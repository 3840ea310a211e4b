package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

func ExampleRetry() {
	retry := resilience.Retry{
		MaxAttempts: 4, // the first included
		Backoff:     resilience.Exponential{Base: time.Millisecond},
		If:          resilience.IsTransient,
		OnRetry: func(_ context.Context, failed resilience.FailedAttempt) bool {
			fmt.Printf("attempt %d failed: %v\n", failed.Number, failed.Err)
			return true
		},
	}
	greeting, err := resilience.Do(context.Background(), func(ctx context.Context) (string, error) {
		if resilience.AttemptNumber(ctx) < 3 {
			return "", context.DeadlineExceeded // the driver's own
		}
		return "hello", nil
	}, retry)
	fmt.Println(greeting, err)
	// Output:
	// attempt 1 failed: context deadline exceeded
	// attempt 2 failed: context deadline exceeded
	// hello <nil>
}

func ExamplePermanent() {
	badRequest := errors.New("bad request")
	runs := 0
	err := resilience.Run(context.Background(), func(context.Context) error {
		runs++
		return resilience.Permanent(badRequest)
	}, resilience.Retry{})
	fmt.Println(runs, err, errors.Is(err, badRequest))
	// Output: 1 bad request true
}

func ExampleRetryAfter() {
	_ = resilience.Run(context.Background(), func(context.Context) error {
		return resilience.RetryAfter(errors.New("too many requests"), time.Minute)
	}, resilience.Retry{
		Backoff: resilience.NoDelay,
		OnRetry: func(_ context.Context, failed resilience.FailedAttempt) bool {
			fmt.Println("would wait", failed.Delay) // MaxDelay caps what the server asks for
			return false
		},
	})
	// Output: would wait 30s
}
