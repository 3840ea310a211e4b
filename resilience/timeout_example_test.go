package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

func ExampleTimeout() {
	slow := func(ctx context.Context) error {
		<-ctx.Done() // an operation that heeds its context
		return ctx.Err()
	}
	err := resilience.Run(context.Background(), slow, resilience.Timeout{Name: "query", After: time.Millisecond})
	fmt.Println(err)
	fmt.Println(errors.Is(err, resilience.ErrTimeout), errors.Is(err, context.DeadlineExceeded))
	// Output:
	// resilience: query: no result within 1ms
	// true true
}
