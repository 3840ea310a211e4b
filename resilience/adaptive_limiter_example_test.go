package resilience_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/telltale-go/telltale/resilience"
)

func ExampleAdaptiveLimiter() {
	search := resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "search-backend", Initial: 1})
	err := search.Run(context.Background(), func(ctx context.Context) error {
		s := search.Snapshot()
		fmt.Printf("%d of %d running\n", s.Usage, s.Limit)
		return search.Run(ctx, func(context.Context) error { return nil }) // more than it knows to be right yet
	})
	fmt.Println(errors.Is(err, resilience.ErrLimited), err)
	// Output:
	// 1 of 1 running
	// true resilience: adaptive limiter search-backend rejected the call: full (1 of 1 running)
}

func ExampleWithPriority() {
	ctx := resilience.WithPriority(context.Background(), resilience.PriorityLow)
	fmt.Println(resilience.PriorityOf(ctx), resilience.PriorityOf(context.Background()))
	// Output: low normal
}
