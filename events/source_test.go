package events_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// BUS-10
func TestSourceIndexesAreUniqueAmongTheLivingAndUsedAgain(t *testing.T) {
	a, b := events.NewBus(), events.NewBus()
	live := map[int]bool{}
	use := func(s *events.Source) {
		for _, s := range append([]*events.Source{s}, s.Layers()...) {
			if s.Index() < 0 || live[s.Index()] {
				t.Fatalf("index %d is taken", s.Index())
			}
			live[s.Index()] = true
		}
	}
	kept := []*events.Source{a.NewSource(named("kept", "x", "y")), b.NewSource(named("kept", "x"))} // process-wide
	for _, s := range kept {
		use(s)
	}
	used := map[int]bool{}
	for range 10_000 {
		s := a.NewSource(named("short", "x", "y", "z"))
		use(s)
		a.Remove(s)
		for _, s := range append([]*events.Source{s}, s.Layers()...) {
			used[s.Index()] = true
			delete(live, s.Index())
		}
	}
	runtime.KeepAlive(kept)
	if len(used) > 20_000 {
		t.Fatalf("%d indexes for 4 live sources at a time: they are not used again", len(used))
	}
}

// BUS-10
func TestSourceIndexesAreUniqueUnderConcurrency(t *testing.T) {
	bus := events.NewBus()
	var owners sync.Map // index to the source that has it
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 300 {
				s := bus.NewSource(named("s", "layer"))
				all := []*events.Source{s, s.Layers()[0]}
				for _, s := range all {
					if other, taken := owners.LoadOrStore(s.Index(), s); taken {
						t.Errorf("index %d of %v is taken by %v", s.Index(), s, other)
					}
				}
				for _, s := range all {
					owners.Delete(s.Index())
				}
				bus.Remove(s)
			}
		})
	}
	workers.Wait()
}

// BUS-10
func TestSourcesOfOffAreNotListed(t *testing.T) {
	s := events.Off().NewSource(named("exporter", "retry"))
	if s.Index() != -1 || s.Layers()[0].Index() != -1 || len(events.Off().Sources()) != 0 {
		t.Fatalf("indexes %d and %d, listed %v", s.Index(), s.Layers()[0].Index(), events.Off().Sources())
	}
	events.Off().Remove(s)
	if next := events.NewBus().NewSource(named("next")); next.Index() < 0 {
		t.Fatalf("removing a source without an index gave index %d back", next.Index())
	}
}

func TestSourceIsMadeOfItsSpecAsItWas(t *testing.T) {
	spec := named("p", "a", "b")
	s := events.NewBus().NewSource(spec)
	spec.Pipeline, spec.Layers[0].Layer = "changed", "changed"
	if s.Pipeline() != "p" || s.Layers()[0].Layer() != "a" || s.Layers()[1].Position() != 1 {
		t.Fatalf("the source changed with its spec: %v %v", s.Pipeline(), s.Layers()[0].Layer())
	}
}
