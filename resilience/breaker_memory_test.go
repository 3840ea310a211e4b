package resilience

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/telltale-go/telltale/events"
)

// The budget of DESIGN.md: a breaker takes 256 bytes, 512 with its source, its settings and its window, and a count of slow
// calls 96 more; being listed by a bus is the bus's and comes on top.
func TestBreakerTakesLittleMemory(t *testing.T) {
	if size := unsafe.Sizeof(Breaker{}); size > 256 {
		t.Errorf("the struct takes %d bytes", size)
	}
	listed := events.NewBus()
	for _, c := range []struct {
		cfg      BreakerConfig
		bytes    uint64
		mostMade float64
	}{
		{BreakerConfig{Bus: events.Off()}, 420, 5},
		{BreakerConfig{FailureRatio: 0.5, Bus: events.Off()}, 512, 6},
		{BreakerConfig{FailureRatio: 0.5, WindowCalls: 100, Bus: events.Off()}, 512, 7},
		{BreakerConfig{FailureRatio: 0.5, SlowCall: time.Second, Bus: events.Off()}, 608, 9},
		{BreakerConfig{FailureRatio: 0.5, Bus: listed}, 768, 16},
	} {
		c.cfg.Name = "db"
		const many = 10_000
		all := make([]*Breaker, many)
		before := live()
		for i := range all {
			all[i] = MustBreaker(c.cfg)
		}
		// What the rest of the process frees meanwhile, and what the bus's map grows by, is not exact: half a per cent.
		if each := (live() - before) / many; each > c.bytes+c.bytes/200 {
			t.Errorf("%s: %d bytes, at most %d", all[0].machine.rules, each, c.bytes)
		} else {
			t.Logf("%s: %d bytes", all[0].machine.rules, each)
		}
		if made := testing.AllocsPerRun(1000, func() { MustBreaker(c.cfg) }); made > c.mostMade {
			t.Errorf("%s: %v allocations, at most %v", all[0].machine.rules, made, c.mostMade)
		}
		runtime.KeepAlive(all)
	}
}

// live returns how many bytes live.
func live() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// PIPE-26, BUS-10: breakers cost no goroutine, and those that are dropped are collected, whatever their functions hold, and
// leave the bus.
func TestDroppedBreakersAreCollected(t *testing.T) {
	bus := events.NewBus()
	var living atomic.Int64
	defer bus.Source.Observe(func(context.Context, events.SourceAdded) func(context.Context, events.SourceRemoved) {
		living.Add(1)
		return func(context.Context, events.SourceRemoved) { living.Add(-1) }
	})()
	goroutines := runtime.NumGoroutine()
	all := make([]*Breaker, 100_000)
	for i := range all {
		var b *Breaker
		b = MustBreaker(BreakerConfig{Name: "db", SlowCall: time.Second, Bus: bus,
			FailureIf: func(error) bool { return b != nil }, CooldownFunc: func(int) time.Duration {
				if b == nil { // it is being made
					return time.Second
				}
				return time.Duration(len(b.String())) * time.Second
			}})
		all[i] = b
	}
	all[0].ForceOpen()
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines for %d breakers", n-goroutines, len(all))
	}
	if n := living.Load(); n != int64(len(all)) {
		t.Fatalf("%d live, want %d", n, len(all))
	}
	kept := all[7]
	all = nil
	for range 200 {
		if runtime.GC(); living.Load() == 1 {
			break
		}
	}
	if sources := bus.Sources(); len(sources) != 1 || sources[0] != kept.source || sources[0].Settings() != kept.machine.rules.String() {
		t.Errorf("%d are listed, want the one that is kept", len(sources))
	}
	runtime.KeepAlive(kept)
}
