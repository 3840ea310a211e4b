package resilience_test

import (
	"context"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

func BenchmarkHedgeNotFired(b *testing.B) { bench(b, ints(events.NewBus(), resilience.Hedge{}), one) }

func BenchmarkHedgeLearned(b *testing.B) {
	learn := resilience.MustLearnedDelay(resilience.LearnedDelayConfig{})
	bench(b, ints(events.NewBus(), resilience.Hedge{Learn: learn}), one)
}

func BenchmarkHedgeListened(b *testing.B) { bench(b, ints(listened(), resilience.Hedge{}), one) }

func BenchmarkTimeoutAbandonInTime(b *testing.B) {
	bench(b, ints(events.NewBus(), resilience.Timeout{After: time.Minute, Abandon: true}), one)
}

// BenchmarkHedgeByHand is what a goroutine, its context, a timer and the way back cost by hand.
func BenchmarkHedgeByHand(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithCancelCause(context.Background())
		answer := make(chan int, 2)
		go func() {
			v, _ := one(ctx)
			answer <- v
		}()
		timer := time.NewTimer(time.Second)
		select {
		case <-answer:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		cancel(nil)
	}
}
