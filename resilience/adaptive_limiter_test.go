package resilience_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// dependency serves so many calls at once and queues the others.
type dependency struct {
	workers *resilience.Bulkhead
	takes   atomic.Int64
}

func newDependency(workers int, takes time.Duration) *dependency {
	d := &dependency{workers: bulkhead(workers, 1<<20, 0)}
	d.takes.Store(int64(takes))
	return d
}

func (d *dependency) serve(ctx context.Context) error {
	return d.workers.Run(ctx, func(context.Context) error { time.Sleep(time.Duration(d.takes.Load())); return nil })
}

// load keeps so many callers calling, who come back later when they are refused, until the test ends.
func load(ctx context.Context, wg *sync.WaitGroup, callers int, call func(context.Context) error) {
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				if call(ctx) != nil {
					time.Sleep(25 * time.Millisecond)
				}
			}
		})
	}
}

// mean returns the limit's mean over some time.
func mean(a *resilience.AdaptiveLimiter, over time.Duration) float64 {
	sum := 0.0
	for range 100 {
		time.Sleep(over / 100)
		sum += float64(a.Snapshot().Limit)
	}
	return sum / 100
}

// LIM-08: through a pipeline, in virtual time: it finds what a dependency serves at once, falls when that takes longer,
// recovers, and tells each change.
func TestAdaptiveLimiterFollowsItsDependency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		var mu sync.Mutex
		last, most, changes := int64(20), int64(0), 0
		bus.LimitChanged.Subscribe(func(_ context.Context, e events.LimitChanged) {
			mu.Lock()
			defer mu.Unlock()
			if e.From != last || e.From == e.To || e.Reason != events.ReasonAdapted || e.Source.Layer() != "search" {
				t.Errorf("after %d: %+v", last, e)
			}
			last, most, changes = e.To, max(most, e.To), changes+1
		})
		a := resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "search", Max: 200, Bus: bus})
		p := ints(bus, a)
		d := newDependency(40, 20*time.Millisecond)
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		load(ctx, &wg, 100, func(ctx context.Context) error { return p.Run(ctx, d.serve) })

		time.Sleep(6 * time.Second) // 60 rounds
		found := mean(a, 5*time.Second)
		if found < 32 || found > 48 {
			t.Errorf("found %.1f, the dependency serves 40 at once", found)
		}
		d.takes.Store(int64(100 * time.Millisecond))
		time.Sleep(3 * time.Second)
		if n := a.Snapshot().Limit; float64(n) > 0.75*found {
			t.Errorf("five times slower: %d, before %.1f", n, found)
		}
		d.takes.Store(int64(20 * time.Millisecond))
		time.Sleep(6 * time.Second)
		if n := mean(a, 5*time.Second); n < 32 || n > 48 {
			t.Errorf("recovered to %.1f", n)
		}
		stop()
		wg.Wait()
		s := a.Snapshot()
		mu.Lock()
		defer mu.Unlock()
		if s.Usage != 0 || s.Limit != last || changes == 0 || changes > 20*10 || most > 200 {
			t.Errorf("%+v after %d changes, the last to %d, the most %d", s, changes, last, most)
		}
	})
}

// LIM-08, LIM-05
func TestAdaptiveLimiterRefusesAtItsLimit(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	a := resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "search", Initial: 2, Bus: bus})
	for range 2 {
		lease, err := a.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer lease.Release(nil)
	}
	err := ints(bus, a).Run(t.Context(), func(context.Context) error { t.Error("the operation ran"); return nil })
	limited := new(resilience.LimitedError)
	if !errors.As(err, &limited) || limited.Layer != "search" || limited.Reason != events.ReasonFull || resilience.KindOf(err) != resilience.KindLimited {
		t.Errorf("got %v", err)
	}
	if told := heard[events.CallRejected](tape); len(told) != 1 || told[0].Source.Type() != events.TypeAdaptiveLimiter {
		t.Errorf("told %+v", told)
	}
	if source := bus.Sources()[0]; source.Type() != events.TypeAdaptiveLimiter || source.Settings() != "initial=2 min=1 max=1000" {
		t.Errorf("%v %s", source, source.Settings())
	} else if r, ok := source.Limiter(); !ok || r != a.Snapshot() || r.Limit != 2 || r.Usage != 2 {
		t.Errorf("reads %+v", r)
	}
}

// LIM-04, LIM-08, PIPE-13: however calls end, and whatever the handlers of its changes do, it keeps nothing.
func TestAdaptiveLimiterGetsItsPermitBackHoweverTheCallEnds(t *testing.T) {
	bus := events.NewBus()
	told := 0
	bus.LimitChanged.Subscribe(func(context.Context, events.LimitChanged) {
		if told++; told%2 == 0 {
			panic("handler")
		}
		runtime.Goexit()
	})
	bus.CallbackPanicked.Subscribe(func(context.Context, events.CallbackPanicked) { runtime.Goexit() })
	exit, asked := false, 0
	a := resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "search", Initial: 1, Bus: bus, OverloadIf: func(error) bool {
		if asked++; asked%2 == 0 {
			runtime.Goexit()
		}
		if asked%5 == 0 {
			panic("OverloadIf")
		}
		exit = !exit
		return exit
	}})
	p := ints(bus, a)
	synctest.Test(t, func(t *testing.T) {
		for i := range 4000 {
			apart(func() {
				defer func() { _ = recover() }()
				_ = p.Run(t.Context(), func(context.Context) error {
					time.Sleep(time.Duration(i%7) * time.Millisecond)
					switch i % 9 {
					case 0:
						panic("op")
					case 1:
						runtime.Goexit()
					case 2:
						if i/1000%2 == 0 { // else it grows
							return errBoom
						}
					}
					return nil
				})
			})
			if s := a.Snapshot(); s.Usage != 0 || s.Limit < 1 {
				t.Fatalf("after call %d: %+v", i, s)
			}
		}
	})
	if asked == 0 || told == 0 {
		t.Errorf("asked %d times, told %d", asked, told)
	}
}

// LIM-08: many goroutines, while the limit changes.
func TestAdaptiveLimiterIsSafeForConcurrentUse(t *testing.T) {
	a := resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "search", Initial: 5, Max: 8, Bus: events.NewBus()})
	var running atomic.Int64
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for n := range 500 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration((i*n)%100)*time.Microsecond)
				_ = a.Run(resilience.WithPriority(ctx, resilience.Priority(n%4-2)), func(context.Context) error {
					if n := running.Add(1); n > 8 {
						t.Errorf("%d at once", n)
					}
					runtime.Gosched()
					running.Add(-1)
					return nil
				})
				cancel()
			}
		})
	}
	wg.Wait()
	if s := a.Snapshot(); s.Usage != 0 || s.Limit < 1 || s.Limit > 8 {
		t.Errorf("%+v", s)
	}
}

// LIM-08, PIPE-26: in and out of bubbles, whose clocks are years apart, it goes on adapting.
func TestAdaptiveLimiterSurvivesAnotherClock(t *testing.T) {
	a := resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "search", Initial: 1, Bus: events.NewBus()})
	_ = a.Run(t.Context(), succeed)
	limit := a.Snapshot().Limit
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			d := newDependency(1000, 10*time.Millisecond)
			load(ctx, &wg, 60, func(ctx context.Context) error { return a.Run(ctx, d.serve) })
			time.Sleep(time.Minute)
			stop()
			wg.Wait()
		})
		if s := a.Snapshot(); s.Usage != 0 || s.Limit <= limit {
			t.Errorf("%+v, was %d", s, limit)
		}
		limit = min(a.Snapshot().Limit, 50) // then 60 callers do not use it any more
	}
}

// LIM-08, PIPE-27: a held value keeps its permit until its release.
func TestAdaptiveLimiterKeepsThePermitOfAHeldValue(t *testing.T) {
	a := resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "search", Initial: 1, Bus: events.Off()})
	p := streams(nil, a)
	s, err := p.Do(t.Context(), openStream)
	if err != nil || a.Snapshot().Usage != 1 {
		t.Fatalf("%v, %+v", err, a.Snapshot())
	}
	if _, err := p.Do(t.Context(), openStream); !errors.Is(err, resilience.ErrLimited) {
		t.Errorf("got %v", err)
	}
	s.release(nil)
	s.release(nil)
	if a.Snapshot().Usage != 0 {
		t.Errorf("after the release: %+v", a.Snapshot())
	}
}
