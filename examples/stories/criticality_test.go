package stories_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/telltale-go/telltale/resilience"
)

// Several criticalities, one breaker: checkout, search and the nightly export use the same database. Each has the
// patience and the share of the connections that it deserves, but they agree on whether the database is ill: whoever
// sees it protects all.
//
// Not for dependencies that fail apart, such as shards or regions, which want a breaker each. Not where the failures of the
// one are of its own making, such as queries that are too big: FailureIf leaves them out, or they refuse the others.
func Example_criticalitiesSharingOneBreaker() {
	ctx := context.Background()
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "shop-db", ConsecutiveFailures: 5})
	of := func(name string, connections, attempts int) *resilience.Pipeline[string] {
		return resilience.MustPipeline(resilience.PipelineConfig[string]{
			Name: name,
			Layers: []resilience.Layer{
				resilience.MustBulkhead(resilience.BulkheadConfig{Name: name, MaxConcurrent: connections}),
				resilience.Retry{MaxAttempts: attempts, Backoff: resilience.NoDelay},
				db,
				resilience.Timeout{},
			},
		})
	}
	checkout, search, export := of("shop.checkout", 50, 4), of("shop.search", 20, 2), of("shop.export", 1, 1)

	database := &remote{down: always}
	for _, p := range []*resilience.Pipeline[string]{export, search, search, checkout} {
		_, err := p.Do(ctx, database.get)
		fmt.Println(p.Describe().Name, "refused:", errors.Is(err, resilience.ErrBreakerOpen), "calls so far:", database.calls)
	}
	// Output:
	// shop.export refused: false calls so far: 1
	// shop.search refused: false calls so far: 3
	// shop.search refused: false calls so far: 5
	// shop.checkout refused: true calls so far: 5
}
