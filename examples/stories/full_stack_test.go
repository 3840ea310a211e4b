package stories_test

import (
	"context"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// The canonical full stack: who does not know better takes these layers in this order, and leaves out what the call does
// not need. What is outside sees whole calls, what is inside each attempt: one call for all who ask the same, an answer
// when everything failed, room for the call, its time, repetition within a budget, then, for each attempt, the breaker
// and the attempt's time.
//
// Not for writes as it stands: without the Singleflight and the Fallback, and with IsNotProcessed as the retry's If, it is.
func Example_canonicalFullStack() {
	bus := events.NewBus()
	outcomes := map[string]int{}
	bus.Execution.SubscribeEnds(func(_ context.Context, e events.ExecutionFinished) { outcomes[e.Outcome.String()]++ })

	budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "accounts-api", Bus: bus})
	accounts := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "accounts.get", Bus: bus,
		RetryIf: resilience.IsTransient,
		Layers: []resilience.Layer{ // outermost first
			resilience.MustSingleflight(resilience.SingleflightConfig{}),
			resilience.FallbackValue("an account"),
			resilience.MustBulkhead(resilience.BulkheadConfig{
				Name: "accounts", MaxConcurrent: 64, MaxQueue: 16, MaxWait: 100 * time.Millisecond, Bus: bus,
			}),
			resilience.Timeout{Name: "total", After: 3 * time.Second},
			resilience.Retry{Backoff: resilience.Exponential{Base: time.Millisecond}, Budget: budget},
			resilience.MustBreaker(resilience.BreakerConfig{Name: "accounts-api", FailureRatio: 0.5, MinCalls: 10, Bus: bus}),
			resilience.Timeout{Name: "attempt", After: 800 * time.Millisecond},
		},
	})

	calls := 0
	flaky := func(ctx context.Context) (string, error) {
		calls++
		if resilience.AttemptNumber(ctx) < 3 {
			return "", context.DeadlineExceeded // a driver's own limit: transient
		}
		return "Ada", nil
	}
	answer, err := accounts.DoKey(context.Background(), "account:42", flaky)
	fmt.Println(answer, err, "after", calls, "calls")

	calls = 0
	dead := func(context.Context) (string, error) {
		calls++
		return "", context.DeadlineExceeded
	}
	for range 100 {
		if answer, err = accounts.DoKey(context.Background(), "account:42", dead); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(answer, err, "after", calls, "calls for 100:", outcomes)

	fmt.Println(accounts, "warns of", len(accounts.Warnings()), "things")
	// Output:
	// Ada <nil> after 3 calls
	// an account <nil> after 7 calls for 100: map[fallback:100 success:1]
	// pipeline accounts.get [singleflight > fallback > accounts > total > retry > accounts-api > attempt] warns of 0 things
}
