package events_test

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/telltale-go/telltale/events"
)

// ledger is an observer that checks what it is told: it is called by one goroutine at a time, so it needs no lock.
type ledger struct {
	t     *testing.T
	comes map[*events.Source]int
	live  map[*events.Source]bool
}

func (l *ledger) observe(bus *events.Bus) (cancel func()) {
	l.comes, l.live = map[*events.Source]int{}, map[*events.Source]bool{}
	return bus.Source.Observe(func(_ context.Context, e events.SourceAdded) func(context.Context, events.SourceRemoved) {
		s := e.Source
		l.comes[s]++
		l.live[s] = true
		return func(_ context.Context, e events.SourceRemoved) {
			if !l.live[s] || e.Source.Index() != s.Index() {
				l.t.Errorf("end of %v, which is not live", e.Source)
			}
			delete(l.live, s)
		}
	})
}

// BUS-10
func TestLifetimesTellNoneTwiceAndMissNoneUnderConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		const makers, each, observers = 4, 100, 6
		made := make([][]*events.Source, makers) // every third one stays
		ledgers := make([]ledger, observers)
		var all sync.WaitGroup
		for m := range makers {
			all.Go(func() {
				for i := range each {
					s := bus.NewSource(named("s", "layer"))
					if made[m] = append(made[m], s); i%3 != 0 {
						bus.Remove(s)
						bus.Remove(s)
					}
				}
			})
		}
		for o := range observers {
			all.Go(func() {
				for range 10 * o { // they come one after another
					runtime.Gosched()
				}
				ledgers[o].t = t
				ledgers[o].observe(bus)
			})
		}
		all.Wait()
		synctest.Wait() // what was handed over to other goroutines

		want := map[*events.Source]bool{}
		for _, sources := range made {
			for i, s := range sources {
				if i%3 == 0 {
					want[s] = true
				}
			}
		}
		for o, l := range ledgers {
			if !maps.Equal(l.live, want) {
				t.Errorf("observer %d knows of %d live sources, want %d", o, len(l.live), len(want))
			}
			for s, n := range l.comes {
				if n != 1 {
					t.Errorf("observer %d was told %d times of %v", o, n, s)
				}
			}
		}
		listed := bus.Sources()
		if len(listed) != len(want) {
			t.Errorf("%d listed, want %d", len(listed), len(want))
		}
		for _, s := range listed {
			if !want[s] {
				t.Errorf("%v is listed", s)
			}
		}
	})
}

// BUS-03 BUS-10
func TestLifetimesTellEveryObserverInOneOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		orders := make([][]*events.Source, 3)
		for o := range orders {
			bus.Source.Observe(func(_ context.Context, e events.SourceAdded) func(context.Context, events.SourceRemoved) {
				runtime.Gosched()
				orders[o] = append(orders[o], e.Source)
				return nil
			})
		}
		var makers sync.WaitGroup
		for range 8 {
			makers.Go(func() {
				for range 50 {
					bus.NewSource(named("s"))
				}
			})
		}
		makers.Wait()
		synctest.Wait()
		if len(orders[0]) != 400 || !slices.Equal(orders[0], orders[1]) || !slices.Equal(orders[0], orders[2]) {
			t.Fatalf("orders of %d, %d and %d sources differ, or are not of 400", len(orders[0]), len(orders[1]), len(orders[2]))
		}
	})
}

// BUS-03 BUS-10 PITFALL-2
func TestLifetimesSurviveObserversThatEndTheGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		leave := func(context.Context, events.SourceAdded) func(context.Context, events.SourceRemoved) {
			return func(context.Context, events.SourceRemoved) { runtime.Goexit() }
		}
		bus.Source.Observe(leave)
		var trace []string
		follow(bus, &trace)
		bus.Source.Observe(leave)
		indexes := map[int]bool{}
		const rounds = 200
		for range rounds {
			s := bus.NewSource(named("s"))
			indexes[s.Index()] = true
			var remover sync.WaitGroup
			remover.Go(func() {
				bus.Remove(s)
				t.Error("Remove returned although a handler ends the goroutine")
			})
			remover.Wait()
			synctest.Wait()
		}
		if len(trace) != 2*rounds || trace[len(trace)-1] != "-s" {
			t.Errorf("the observer between: %d comings and goings, want %d", len(trace), 2*rounds)
		}
		if len(indexes) > rounds/2 {
			t.Errorf("%d indexes for one live source at a time: they are not given back", len(indexes))
		}
		if live := bus.Sources(); len(live) != 0 {
			t.Errorf("live: %v", live)
		}
	})
}

// BUS-04 BUS-10
func TestLifetimesTellNothingThatWaitsWhenAnObserverCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		var told []string
		entered, proceed := make(chan struct{}), make(chan struct{})
		cancel := bus.Source.Observe(func(_ context.Context, e events.SourceAdded) func(context.Context, events.SourceRemoved) {
			told = append(told, e.Source.Pipeline())
			close(entered) // once
			<-proceed
			return func(context.Context, events.SourceRemoved) { t.Error("told of the end after cancel") }
		})
		var maker sync.WaitGroup
		maker.Go(func() { bus.Remove(bus.NewSource(named("first"))) })
		<-entered
		second := bus.NewSource(named("second")) // waits for the observer, its maker does not
		cancel()
		close(proceed)
		maker.Wait()
		synctest.Wait()
		if !slices.Equal(told, []string{"first"}) {
			t.Errorf("told of %v, want what was under way: first", told)
		}
		runtime.KeepAlive(second)
	})
}

// BUS-04 BUS-10
func TestLifetimesObserversComeAndGoUnderConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		kept := bus.NewSource(named("kept"))
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 100 {
					bus.Remove(bus.NewSource(named("short")))
				}
			})
			all.Go(func() {
				for range 100 {
					l := ledger{t: t}
					cancel := l.observe(bus)
					cancel()
				}
			})
		}
		all.Wait()
		synctest.Wait()
		var after []string
		follow(bus, &after)
		if !slices.Equal(after, []string{"+kept"}) {
			t.Fatalf("a late observer is told of %v, want kept", after)
		}
		runtime.KeepAlive(kept)
	})
}
