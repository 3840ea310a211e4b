package resilience_test

import (
	"context"
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

func BenchmarkFallbackNotUsed(b *testing.B) {
	bench(b, ints(events.NewBus(), resilience.FallbackValue(7)), one)
}

func BenchmarkFallbackUsed(b *testing.B) {
	bench(b, ints(events.NewBus(), resilience.FallbackValue(7)), returns(0, errBoom))
}
