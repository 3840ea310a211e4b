package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

func ExampleRateLimiter() {
	api := resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "geocoder", Rate: 2, Per: time.Hour})
	for range 3 {
		err := api.Run(context.Background(), func(context.Context) error { return nil })
		limited := new(resilience.LimitedError)
		if errors.As(err, &limited) {
			fmt.Println(limited.Reason, "exceeded, come back in", limited.RetryAfter().Round(time.Minute))
			continue
		}
		fmt.Println(api)
	}
	// Output:
	// rate limiter geocoder (1 of 2 taken)
	// rate limiter geocoder (2 of 2 taken)
	// rate exceeded, come back in 30m0s
}
