package stories_test

import (
	"context"
	"fmt"

	"github.com/telltale-go/telltale/resilience"
)

// A command-line tool reads one page of a flaky service. There is no pipeline worth naming: the layers stand in the call.
func Example_oneLiner() {
	ctx := context.Background()
	service := &remote{down: 2}

	answer, err := resilience.Do(ctx, service.get, resilience.Retry{MaxAttempts: 3, Backoff: resilience.NoDelay})

	fmt.Println(answer, err, "after", service.calls, "calls")
	// Output: pong <nil> after 3 calls
}

// The same tool asks whether the service lives. The operation returns an error only: Run instead of Do.
func Example_oneLinerWithoutResult() {
	ctx := context.Background()
	service := &remote{down: 1}

	err := resilience.Run(ctx, service.ping, resilience.Retry{Backoff: resilience.NoDelay})

	fmt.Println(err, "after", service.calls, "calls")
	// Output: <nil> after 2 calls
}
