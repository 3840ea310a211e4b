package stories_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

type user struct{ Name string }

type invoice struct{ Cents int }

// Users and invoices live in the same database. The two pipelines have different result types and share one breaker, so
// that the failures that one sees protect the other.
func Example_sharedBreakerOfTwoResultTypes() {
	ctx := context.Background()
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "ledger-db", ConsecutiveFailures: 2})
	users := resilience.MustPipeline(resilience.PipelineConfig[*user]{
		Name: "ledger.users", Layers: []resilience.Layer{db, resilience.Timeout{After: time.Second}},
	})
	invoices := resilience.MustPipeline(resilience.PipelineConfig[[]invoice]{
		Name: "ledger.invoices", Layers: []resilience.Layer{db, resilience.Timeout{After: time.Second}},
	})

	for range 2 {
		_, err := users.Do(ctx, func(context.Context) (*user, error) { return nil, errDown })
		fmt.Println("users:", err)
	}
	_, err := invoices.Do(ctx, func(context.Context) ([]invoice, error) {
		fmt.Println("never printed: the database is left alone")
		return nil, nil
	})

	var open *resilience.BreakerOpenError
	fmt.Println("invoices:", errors.As(err, &open), open.Name, open.State, "because of:", open.LastFailure)
	// Output:
	// users: no answer
	// users: no answer
	// invoices: true ledger-db open because of: no answer
}
