package outage

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// caller is who calls a pipeline, so many times at once.
type caller struct {
	pipeline *resilience.Pipeline[int]
	key      string
	atOnce   int
	down     resilience.Operation[int] // while the outage lasts
	up       resilience.Operation[int] // else
}

// traffic is what the service does. Two pipelines share the breaker of their database, and one of them retries within a
// budget; search has a dependency that hangs in the outage; profiles are slow at times, and have a fallback.
func traffic(bus *events.Bus) []caller {
	build := func(name string, layers ...resilience.Layer) *resilience.Pipeline[int] {
		return resilience.MustPipeline(resilience.PipelineConfig[int]{Name: name, Bus: bus, Layers: layers})
	}
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "orders-db", FailureRatio: 0.5, MinCalls: 20, Cooldown: 20 * time.Second, Bus: bus})
	pool := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", MaxConcurrent: 50, Bus: bus})
	desk := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "search-desk", MaxConcurrent: 3, MaxQueue: 3, MaxWait: 200 * time.Millisecond, Bus: bus})
	retries := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "orders-retries", Tokens: 40, Bus: bus})
	hedges := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "profile-hedges", Allowance: 1, Window: time.Second, Bus: bus})
	return []caller{
		{
			pipeline: build("orders.create", pool, resilience.Timeout{Name: "total", After: 3 * time.Second},
				resilience.Retry{Backoff: resilience.Exponential{Base: 50 * time.Millisecond}, Budget: retries}, db,
				resilience.Timeout{Name: "attempt", After: 500 * time.Millisecond}),
			atOnce: 1, up: quick, down: fails,
		}, {
			pipeline: build("orders.get", resilience.Timeout{After: time.Second}, db),
			atOnce:   1, up: quick, down: fails,
		}, {
			pipeline: build("search", desk, resilience.Timeout{After: 500 * time.Millisecond}),
			atOnce:   1, up: quick, down: hangs,
		}, {
			pipeline: build("profiles", resilience.MustSingleflight(resilience.SingleflightConfig{}), resilience.FallbackValue(2),
				resilience.Timeout{After: 3 * time.Second}, resilience.Hedge{Delay: 50 * time.Millisecond, Budget: hedges}),
			key: "42", atOnce: 2, up: slowAtTimes(), down: fails,
		},
	}
}

func quick(context.Context) (int, error) {
	time.Sleep(20 * time.Millisecond)
	return 1, nil
}

func fails(context.Context) (int, error) {
	time.Sleep(20 * time.Millisecond)
	return 0, Down{}
}

func hangs(ctx context.Context) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// slowAtTimes takes a second at every fifth first attempt.
func slowAtTimes() resilience.Operation[int] {
	var calls atomic.Int64
	return func(ctx context.Context) (int, error) {
		if resilience.AttemptNumber(ctx) == 1 && calls.Add(1)%5 == 0 {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		return quick(ctx)
	}
}

// generate calls every pipeline PerSecond times a second, until stop.
func generate(start time.Time, traffic []caller, stop <-chan struct{}) {
	var calls sync.WaitGroup
	defer calls.Wait()
	ticker := time.NewTicker(time.Second / PerSecond)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		at := time.Since(start)
		for _, c := range traffic {
			op := c.up
			if at >= Begins && at < Ends {
				op = c.down
			}
			for range c.atOnce {
				calls.Go(func() { _, _ = c.pipeline.DoKey(context.Background(), c.key, op) })
			}
		}
	}
}
