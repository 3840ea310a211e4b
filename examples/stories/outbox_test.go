package stories_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

var errMalformed = errors.New("malformed message")

// Outbox delivery: messages wait in a table and must arrive, however long it takes. Many attempts, delays that grow up
// to a cap, the peer's own wish when to come back, and an error that no attempt can mend ends it: such a message goes
// to the dead letters.
//
// Not inside a request: a caller is gone long before the twentieth attempt. Not without an idempotent receiver either: a
// message whose confirmation was lost is delivered again. Where a message must outlive the process, the table is what
// repeats, and MaxAttempts is for one turn of it.
func Example_outboxDelivery() {
	ctx := context.Background()
	deliver := resilience.MustPipeline(resilience.PipelineConfig[struct{}]{
		Name: "outbox.deliver",
		Layers: []resilience.Layer{
			resilience.Retry{
				MaxAttempts: 20, // Unlimited: until ctx ends
				Backoff:     resilience.Exponential{Base: time.Millisecond},
				MaxDelay:    2 * time.Millisecond, // minutes in a real service
			},
			resilience.Timeout{After: time.Second},
		},
	})

	calls := 0
	err := deliver.Run(ctx, func(context.Context) error {
		if calls++; calls < 8 {
			return resilience.RetryAfter(errDown, 100*time.Microsecond) // such as a 503 with a Retry-After
		}
		return nil
	})
	fmt.Println("a patient one:", err, "after", calls, "calls")

	calls = 0
	err = deliver.Run(ctx, func(context.Context) error {
		calls++
		return resilience.Permanent(errMalformed)
	})
	fmt.Println("a poisoned one:", err, "after", calls, "call, dead letter:", errors.Is(err, errMalformed))
	// Output:
	// a patient one: <nil> after 8 calls
	// a poisoned one: malformed message after 1 call, dead letter: true
}
