package resilience_test

import (
	"context"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// The benchmarks follow the table of budgets in DESIGN.md. A layer's row is net of BenchmarkEmpty.
func bench(b *testing.B, p *resilience.Pipeline[int], op resilience.Operation[int]) {
	b.Helper()
	b.ReportAllocs()
	ctx := context.Background()
	for b.Loop() {
		p.Do(ctx, op)
	}
}

func BenchmarkEmpty(b *testing.B) { bench(b, ints(events.NewBus()), one) }

func BenchmarkBreakerWindowed(b *testing.B) {
	bus := events.NewBus()
	bench(b, ints(bus, breakerOn(bus, 0.5)), one)
}

func BenchmarkBreakerWindowOfCalls(b *testing.B) {
	bus := events.NewBus()
	bench(b, ints(bus, resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureRatio: 0.5, WindowCalls: 100, Bus: bus})), one)
}

func BenchmarkBreakerSlowCall(b *testing.B) {
	bus := events.NewBus()
	bench(b, ints(bus, slowCallOn(bus)), one)
}

func BenchmarkBreakerConsecutive(b *testing.B) {
	bus := events.NewBus()
	bench(b, ints(bus, breakerOn(bus, 0)), one)
}

func BenchmarkBreakerOpen(b *testing.B) { bench(b, refusing(events.NewBus()), one) }

func BenchmarkRetryFirstSucceeds(b *testing.B) {
	bench(b, ints(events.NewBus(), resilience.Retry{}), one)
}

func BenchmarkRetryTwoFailures(b *testing.B) {
	bench(b, ints(events.NewBus(), resilience.Retry{Backoff: resilience.NoDelay}), failsTwice())
}

func BenchmarkRetryBudgetFirstSucceeds(b *testing.B) {
	bench(b, ints(events.NewBus(), withBudget(tokens(100))), one)
}

func BenchmarkRetryBudgetTwoFailures(b *testing.B) {
	budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "b", Ratio: 2, Bus: events.Off()})
	bench(b, ints(events.NewBus(), withBudget(budget)), failsTwice())
}

func BenchmarkRetryBudgetReplenishingTwoFailures(b *testing.B) {
	bench(b, ints(events.NewBus(), withBudget(allowance(1<<31-1))), failsTwice())
}

func BenchmarkTimeout(b *testing.B) {
	bench(b, ints(events.NewBus(), resilience.Timeout{After: time.Minute}), one)
}

// waits is an operation that has its context's channel made, as one that waits does.
func waits(ctx context.Context) (int, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	default:
		return 1, nil
	}
}

func BenchmarkTimeoutWaiting(b *testing.B) {
	bench(b, ints(events.NewBus(), resilience.Timeout{After: time.Minute}), waits)
}

// BenchmarkWithTimeout is what a timeout costs by hand.
func BenchmarkWithTimeout(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		one(ctx)
		cancel()
	}
}

func BenchmarkWithTimeoutWaiting(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		waits(ctx)
		cancel()
	}
}

func BenchmarkBulkhead(b *testing.B) {
	bus := events.NewBus()
	bench(b, ints(bus, bulkheadOn(bus)), one)
}

func BenchmarkBulkheadWithAQueue(b *testing.B) {
	bus := events.NewBus()
	bench(b, ints(bus, resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxQueue: 10, Bus: bus})), one)
}

func BenchmarkAdaptiveLimiter(b *testing.B) {
	bus := events.NewBus()
	bench(b, ints(bus, adaptiveOn(bus)), one)
}

func BenchmarkRateLimiter(b *testing.B) {
	bus := events.NewBus()
	bench(b, ints(bus, rateLimiterOn(bus, 1e9)), one)
}

func BenchmarkRateLimiterWithAWait(b *testing.B) {
	bus := events.NewBus()
	bench(b, ints(bus, resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "rate", Rate: 1e9, MaxWait: time.Second, Bus: bus})), one)
}

func BenchmarkRateLimiterRejected(b *testing.B) {
	bus := events.NewBus()
	bench(b, ints(bus, refusingRate(bus)), one)
}

func BenchmarkCanonical(b *testing.B) { bench(b, canonical(events.NewBus()), one) }

func BenchmarkCanonicalWaiting(b *testing.B) { bench(b, canonical(events.NewBus()), waits) }

func BenchmarkCanonicalListened(b *testing.B) { bench(b, canonical(listened()), one) }

func BenchmarkBulkheadRetryBreaker(b *testing.B) {
	bus := events.NewBus()
	bench(b, ints(bus, bulkheadOn(bus), resilience.Retry{}, breakerOn(bus, 0)), one)
}

func BenchmarkBulkheadRetryBreakerListened(b *testing.B) {
	bus := listened()
	bench(b, ints(bus, bulkheadOn(bus), resilience.Retry{}, breakerOn(bus, 0)), one)
}

func BenchmarkParallel(b *testing.B) {
	bus := events.NewBus()
	parallel(b, ints(bus, bulkheadOn(bus), resilience.Retry{}, breakerOn(bus, 0.5)))
}

func BenchmarkParallelBulkhead(b *testing.B) {
	bus := events.NewBus()
	parallel(b, ints(bus, bulkheadOn(bus)))
}

func BenchmarkParallelRateLimiter(b *testing.B) {
	bus := events.NewBus()
	parallel(b, ints(bus, rateLimiterOn(bus, 1e9)))
}

func BenchmarkParallelAdaptiveLimiter(b *testing.B) {
	bus := events.NewBus()
	parallel(b, ints(bus, adaptiveOn(bus)))
}

// parallel is bench from several goroutines at once.
func parallel(b *testing.B, p *resilience.Pipeline[int]) {
	b.Helper()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p.Do(context.Background(), one)
		}
	})
}

// BenchmarkBreakerMemory reports what a breaker takes, all in.
func BenchmarkBreakerMemory(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		breakerOn(events.Off(), 0.5)
	}
}
