package stories_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// An operation that cannot be stopped: the driver of an old database takes no context, and now and then a query hangs in
// it. The request must be answered all the same, so the query is left to itself at the limit; what hangs is bounded, and
// when as much hangs as may be, further requests are refused at once instead of hanging as well.
func Example_operationThatCannotBeStopped() {
	ctx := context.Background()
	answered := make(chan struct{})
	query := func(context.Context) (string, error) { // it does not heed the context
		<-answered
		return "rows", nil
	}
	legacy := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name:    "legacy.query",
		Layers:  []resilience.Layer{resilience.Timeout{After: 20 * time.Millisecond, Abandon: true, MaxAbandoned: 2}},
		Discard: func(rows string) error { fmt.Println("discarded:", rows); return nil },
	})

	for range 3 {
		_, err := legacy.Do(ctx, query)
		fmt.Println(err, "-", resilience.KindOf(err), errors.Is(err, resilience.ErrTimeout))
	}
	close(answered)
	fmt.Println("closed:", legacy.Close(ctx)) // it waits for what was left behind
	// Output:
	// resilience: timeout: no result within 20ms - unavailable true
	// resilience: timeout: no result within 20ms - unavailable true
	// resilience: timeout rejected the call: full (2 of 2 running) - limited false
	// discarded: rows
	// discarded: rows
	// closed: <nil>
}
