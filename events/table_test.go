package events_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// rows is a table of names that writes what it opens and drops into trace.
func rows(bus *events.Bus, trace *[]string) *events.Table[string] {
	name := func(s *events.Source) string { return s.Pipeline() + "/" + s.Layer() }
	return events.NewTable(bus, func(s *events.Source) *string {
		n := name(s)
		*trace = append(*trace, "+"+n)
		return &n
	}, func(s *events.Source, n *string) {
		if _, reads := s.Breaker(); reads || name(s) != *n {
			*trace = append(*trace, "the wrong source for "+*n)
		}
		*trace = append(*trace, "-"+*n)
	})
}

// all returns what the table has.
func all[V any](table *events.Table[V]) []V {
	var list []V
	for v := range table.All {
		list = append(list, *v)
	}
	return list
}

// BUS-10 PITFALL-13
func TestTableKeepsOneRowForEachLiveSource(t *testing.T) {
	bus := events.NewBus()
	early := bus.NewSource(named("early", "a"))
	var trace []string
	table := rows(bus, &trace)
	late := bus.NewSource(named("late", "b", "c"))
	for _, s := range []*events.Source{early, early.Layers()[0], late, late.Layers()[1]} {
		if v := table.Get(s); v == nil || *v != s.Pipeline()+"/"+s.Layer() {
			t.Errorf("Get(%s/%s) = %v", s.Pipeline(), s.Layer(), v)
		}
	}
	bus.Remove(early)
	if want := []string{"+early/", "+early/a", "+late/", "+late/b", "+late/c", "-early/a", "-early/"}; !slices.Equal(trace, want) {
		t.Errorf("%v, want %v", trace, want)
	}
	got := all(table)
	slices.Sort(got)
	if want := []string{"late/", "late/b", "late/c"}; !slices.Equal(got, want) {
		t.Errorf("All: %v, want %v", got, want)
	}
	for range table.All {
		break // stops
	}
}

// BUS-10
func TestTableIgnoresSourcesThatAreGoneElsewhereOrNone(t *testing.T) {
	bus := events.NewBus()
	var trace []string
	table := rows(bus, &trace)
	gone := bus.NewSource(named("gone", "layer"))
	bus.Remove(gone)
	trace = nil
	for name, s := range map[string]*events.Source{
		"nil":               nil,
		"removed":           gone,
		"a removed layer":   gone.Layers()[0],
		"on another bus":    events.NewBus().NewSource(named("other")),
		"on the bus of Off": events.Off().NewSource(named("off")),
	} {
		if v := table.Get(s); v != nil {
			t.Errorf("%s: Get = %q, want nil", name, *v)
		}
	}
	if len(trace) != 0 || len(all(table)) != 0 {
		t.Errorf("rows were opened: %v, %v", trace, all(table))
	}
	off := events.NewTable(events.Off(), func(*events.Source) *int { return new(int) }, nil)
	if v := off.Get(events.Off().NewSource(named("off"))); v != nil {
		t.Error("a table of Off has rows")
	}
	off.Close()
}

// BUS-10
func TestTableGivesAnIndexThatIsUsedAgainToItsNewSource(t *testing.T) {
	bus := events.NewBus()
	var trace []string
	table := rows(bus, &trace)
	old := bus.NewSource(named("old"))
	bus.Remove(old)
	for {
		s := bus.NewSource(named("new"))
		if v := table.Get(s); v == nil || *v != "new/" {
			t.Fatalf("Get of the new source = %v", v)
		}
		if v := table.Get(old); v != nil {
			t.Fatalf("Get of the old source = %q", *v)
		}
		if s.Index() == old.Index() {
			return
		}
	}
}

// BUS-10
func TestTableDropsEveryRowOnceWhenItIsClosed(t *testing.T) {
	bus := events.NewBus()
	s := bus.NewSource(named("s", "a"))
	var trace []string
	table := rows(bus, &trace)
	table.Close()
	table.Close()
	if want := []string{"+s/", "+s/a", "-s/", "-s/a"}; !slices.Equal(trace, want) {
		slices.Sort(trace) // the order of indexes is not that of making
		if slices.Sort(want); !slices.Equal(trace, want) {
			t.Errorf("%v, want %v", trace, want)
		}
	}
	bus.Remove(s)
	other := bus.NewSource(named("other"))
	if table.Get(s) != nil || table.Get(other) != nil || len(all(table)) != 0 || len(trace) != 4 {
		t.Errorf("after Close: %v, %v", trace, all(table))
	}
}

// BUS-10
func TestTableKeepsNothingForASourceThatOpenDeclines(t *testing.T) {
	bus := events.NewBus()
	opened := 0
	table := events.NewTable(bus, func(s *events.Source) *int {
		opened++
		return nil
	}, func(*events.Source, *int) { t.Error("drop was called with nil") })
	s := bus.NewSource(named("s"))
	for range 3 {
		if table.Get(s) != nil {
			t.Error("Get returned something")
		}
	}
	for v := range table.All {
		t.Errorf("All has %v", v)
	}
	if opened != 1 {
		t.Errorf("open was asked %d times, want once", opened)
	}
	bus.Remove(s)
	table.Close()
}

// BUS-05 BUS-10
func TestTableLeaksNoRowWhenOpenOrDropPanicsOrLeaves(t *testing.T) {
	for name, fail := range map[string]func(){"panic": func() { panic("broken") }, "Goexit": runtime.Goexit} {
		for _, failing := range []string{"open p/", "open p/a", "open p/b", "drop p/", "drop p/a", "drop p/b"} {
			bus := events.NewBus()
			var made *events.Source // also when whoever makes it does not get it
			bus.Source.Observe(func(_ context.Context, e events.SourceAdded) func(context.Context, events.SourceRemoved) {
				made = e.Source
				return nil
			})
			open := map[string]int{}
			step := func(what string, s *events.Source, delta int) {
				n := s.Pipeline() + "/" + s.Layer()
				if what == "open " && what+n == failing {
					fail()
				}
				if open[n] += delta; what == "drop " && what+n == failing {
					fail()
				}
			}
			table := events.NewTable(bus, func(s *events.Source) *string { step("open ", s, 1); return new(string) },
				func(s *events.Source, _ *string) { step("drop ", s, -1) })
			survive(func() { bus.NewSource(named("p", "a", "b")) })
			for _, l := range made.Layers() { // events come nonetheless
				survive(func() { table.Get(l) })
			}
			survive(func() { bus.Remove(made) })
			if left := all(table); len(left) != 0 || open["p/"] != 0 || open["p/a"] != 0 || open["p/b"] != 0 {
				t.Errorf("%s in %s: removed, %d rows are left, open are %v", name, failing, len(left), open)
			}
			survive(func() { bus.NewSource(named("p", "a", "b")) })
			survive(table.Close)
			if left := all(table); len(left) != 0 || open["p/"] != 0 || open["p/a"] != 0 || open["p/b"] != 0 {
				t.Errorf("%s in %s: closed, %d rows are left, open are %v", name, failing, len(left), open)
			}
			runtime.KeepAlive(made)
		}
	}
}

// survive runs f on a goroutine of its own, which f may end, and recovers its panic.
func survive(f func()) {
	var w sync.WaitGroup
	w.Go(func() {
		defer func() { _ = recover() }()
		f()
	})
	w.Wait()
}

// BUS-01
func TestTableGetDoesNotAllocate(t *testing.T) {
	bus := events.NewBus()
	table := events.NewTable(bus, func(*events.Source) *int { return new(int) }, nil)
	s := bus.NewSource(named("s", "a"))
	get := func() {
		if table.Get(s) == nil || table.Get(s.Layers()[0]) == nil {
			panic(fmt.Sprint("no row for ", s))
		}
	}
	if n := testing.AllocsPerRun(100, get); n != 0 {
		t.Fatalf("%v allocations, want 0", n)
	}
}

func TestTableRefusesToOpenNothing(t *testing.T) {
	if got := panicOf(func() { events.NewTable[int](events.NewBus(), nil, nil) }); got != "events: nil handler for NewTable" {
		t.Fatalf("panics with %v", got)
	}
}
