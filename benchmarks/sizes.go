package main

import (
	"runtime"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/sony/gobreaker/v2"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// size is what one instance keeps on the heap, all in.
type size struct {
	name  string
	role  role
	bytes float64
}

const instances = 10_000

// sizes measures breakers that count in a time window.
func sizes() []size {
	return []size{
		{"Telltale", ours, heap(func() any {
			return resilience.MustBreaker(resilience.BreakerConfig{Name: "b", FailureRatio: 0.5, Bus: events.Off()})
		})},
		{"sony/gobreaker", peer, heap(func() any {
			return gobreaker.NewCircuitBreaker[int](gobreaker.Settings{Interval: 30e9, BucketPeriod: 3e9})
		})},
		{"failsafe-go", peer, heap(func() any {
			return circuitbreaker.NewBuilder[int]().WithFailureRateThreshold(0.5, 20, 30e9).Build()
		})},
	}
}

func heap(make_ func() any) float64 {
	kept := make([]any, instances)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range kept {
		kept[i] = make_()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / instances
}
