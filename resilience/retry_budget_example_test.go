package resilience_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/telltale-go/telltale/resilience"
)

// While the dependency answers, a failure now and then is retried. When it is down, retries would only add to its load: the
// budget runs out, and each call makes one attempt.
func ExampleRetryBudget() {
	budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "search", Tokens: 10, Ratio: 0.5})
	retry := resilience.Retry{Backoff: resilience.NoDelay, Budget: budget}
	runs := 0
	down := func(context.Context) error { runs++; return errors.New("no answer") }

	for range 4 {
		runs = 0
		err := resilience.Run(context.Background(), down, retry)
		fmt.Println(runs, "attempts:", err)
	}
	fmt.Println(budget)
	for range 9 { // it is back: successes fill the budget again
		_ = resilience.Run(context.Background(), func(context.Context) error { return nil }, retry)
	}
	fmt.Println(budget)
	// Output:
	// 3 attempts: no answer
	// 2 attempts: no answer
	// 1 attempts: no answer
	// 1 attempts: no answer
	// retry budget search (0 of 5 left)
	// retry budget search (3 of 5 left)
}
