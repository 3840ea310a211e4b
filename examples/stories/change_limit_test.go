package stories_test

import (
	"context"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// Changing limits at run time: the provider of the maps says by mail that it has halved our quota, and the database has got
// another replica. Nobody deploys; whoever watches sees that it was done.
func Example_changingALimitAtRunTime() {
	bus := events.NewBus()
	bus.LimitChanged.Subscribe(func(_ context.Context, e events.LimitChanged) {
		fmt.Println(e.Source.Layer(), e.From, "->", e.To, e.Rate, e.Reason)
	})
	maps := resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "maps", Rate: 100, Burst: 20, Bus: bus})
	db := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "db", MaxConcurrent: 50, MaxQueue: 100, Bus: bus})

	fmt.Println(maps.SetRate(50, time.Second, 10), db.SetMaxConcurrent(75))
	fmt.Println(db.SetMaxConcurrent(75), db.SetMaxConcurrent(-75))
	fmt.Println(db, db.LayerInfo().Settings)
	// Output:
	// maps 20 -> 10 50 manual
	// db 50 -> 75 0 manual
	// <nil> <nil>
	// <nil> resilience.Bulkhead.MaxConcurrent = -75: must be at least 1
	// bulkhead db (0 of 75) [{max_concurrent 75} {max_queue 100}]
}
