package events_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/telltale-go/telltale/events"
)

// BUS-10
func TestTableNeverLeaksARowWhileGetRacesWithRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		var open, opened atomic.Int64
		type value struct {
			of      *string
			dropped atomic.Bool
		}
		table := events.NewTable(bus, func(s *events.Source) *value {
			open.Add(1)
			opened.Add(1)
			runtime.Gosched() // let the others come between
			name := s.Pipeline() + s.Layer()
			return &value{of: &name}
		}, func(s *events.Source, v *value) {
			if *v.of != s.Pipeline()+s.Layer() {
				t.Errorf("drop of %s with the value of %s", s.Pipeline()+s.Layer(), *v.of)
			}
			if v.dropped.Swap(true) {
				t.Errorf("%s was dropped twice", *v.of)
			}
			open.Add(-1)
		})
		get := func(s *events.Source) {
			if v := table.Get(s); v != nil && *v.of != s.Pipeline()+s.Layer() {
				t.Errorf("Get(%s) has the value of %s", s.Pipeline()+s.Layer(), *v.of)
			}
		}
		var all sync.WaitGroup
		for worker := range 8 {
			all.Go(func() {
				name := string(rune('a' + worker))
				for range 100 {
					s := bus.NewSource(named(name, "1", "2"))
					var racing sync.WaitGroup
					for range 2 {
						racing.Go(func() { // events under way when it is removed
							for range 5 {
								get(s)
								get(s.Layers()[0])
								get(s.Layers()[1])
							}
						})
					}
					runtime.Gosched()
					bus.Remove(s)
					racing.Wait()
					get(s) // and late ones
					get(s.Layers()[1])
				}
			})
		}
		all.Wait()
		synctest.Wait()
		if left := open.Load(); left != 0 || opened.Load() == 0 {
			t.Errorf("%d of %d rows are left although every source is gone", left, opened.Load())
		}
		for v := range table.All {
			t.Errorf("All has %s", *v.of)
		}
	})
}

// BUS-10
func TestTableGetIsNeverWithoutARowWhileTheSourceLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		table := events.NewTable(bus, func(s *events.Source) *string { n := s.Pipeline(); return &n }, nil)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { // makes it grow, too
				var kept []*events.Source
				for i := range 100 {
					s := bus.NewSource(named("p"))
					kept = append(kept, s)
					if table.Get(s) == nil || table.Get(kept[i/2]) == nil {
						t.Error("no row for a live source")
					}
				}
				for _, s := range kept {
					bus.Remove(s)
				}
			})
		}
		all.Wait()
	})
}

// BUS-10
func TestTableCloseRacesWithGetAndWithSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		for range 50 {
			var open atomic.Int64
			table := events.NewTable(bus, func(*events.Source) *int { open.Add(1); return new(int) },
				func(*events.Source, *int) { open.Add(-1) })
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for range 10 {
						s := bus.NewSource(named("p", "a"))
						table.Get(s)
						table.Get(s.Layers()[0])
						bus.Remove(s)
					}
				})
			}
			all.Go(table.Close)
			all.Go(table.Close)
			all.Wait()
			synctest.Wait()
			if n := open.Load(); n != 0 {
				t.Fatalf("%d rows are open after Close", n)
			}
		}
	})
}
