package resilience_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/telltale-go/telltale/resilience"
)

func ExampleBulkhead() {
	pool := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "thumbnails", MaxConcurrent: 1})
	err := pool.Run(context.Background(), func(ctx context.Context) error {
		s := pool.Snapshot()
		fmt.Printf("%d of %d running\n", s.Usage, s.Limit)
		return pool.Run(ctx, func(context.Context) error { return nil }) // there is no room for a second
	})
	fmt.Println(errors.Is(err, resilience.ErrLimited), err)
	// Output:
	// 1 of 1 running
	// true resilience: bulkhead thumbnails rejected the call: full (1 of 1 running)
}

func ExampleBulkhead_Acquire() {
	pool := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "uploads", MaxConcurrent: 2})
	lease, err := pool.Acquire(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release(nil)
	fmt.Println(pool.Snapshot().Usage)
	// Output: 1
}
