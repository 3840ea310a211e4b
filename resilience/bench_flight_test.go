package resilience_test

import (
	"context"
	"sync"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

func benchKey(b *testing.B, ctx context.Context) {
	b.ReportAllocs()
	p := ints(events.NewBus(), resilience.MustSingleflight(resilience.SingleflightConfig{}))
	for b.Loop() {
		p.DoKey(ctx, "user:17", one)
	}
}

func BenchmarkSingleflightAlone(b *testing.B) { benchKey(b, context.Background()) }

func BenchmarkSingleflightAloneWithAnEnd(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	benchKey(b, ctx)
}

// BenchmarkGoroutineByHand is what a run on another goroutine costs, with a context of its own and a channel to wait for it.
func BenchmarkGoroutineByHand(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		inside, stop := context.WithCancelCause(context.WithoutCancel(ctx))
		done := make(chan struct{})
		go func() {
			defer close(done)
			one(inside)
		}()
		select {
		case <-done:
		case <-ctx.Done():
		}
		stop(nil)
	}
}

// BenchmarkFlightByHand is the usual map of calls under way, whose callers cannot leave.
func BenchmarkFlightByHand(b *testing.B) {
	type call struct {
		all sync.WaitGroup
		v   any
		err error
	}
	var mu sync.Mutex
	calls := map[string]*call{}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		mu.Lock()
		c := new(call)
		c.all.Add(1)
		calls["user:17"] = c
		mu.Unlock()
		c.v, c.err = one(ctx)
		mu.Lock()
		c.all.Done()
		delete(calls, "user:17")
		mu.Unlock()
	}
}

func BenchmarkFallbackNotUsed(b *testing.B) {
	bench(b, ints(events.NewBus(), resilience.FallbackValue(7)), one)
}

func BenchmarkFallbackUsed(b *testing.B) {
	bench(b, ints(events.NewBus(), resilience.FallbackValue(7)), returns(0, errBoom))
}
