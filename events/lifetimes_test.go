package events_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// named describes a pipeline with the given layers.
func named(pipeline string, layers ...string) events.SourceSpec {
	spec := events.SourceSpec{Pipeline: pipeline, Type: events.TypePipeline}
	for i, l := range layers {
		spec.Layers = append(spec.Layers, events.SourceSpec{Pipeline: pipeline, Layer: l, Type: events.TypeCustom, Position: i})
	}
	return spec
}

// follow observes the bus's sources and writes their comings and goings into trace.
func follow(bus *events.Bus, trace *[]string) (cancel func()) {
	return bus.Source.Observe(func(_ context.Context, e events.SourceAdded) func(context.Context, events.SourceRemoved) {
		*trace = append(*trace, "+"+e.Source.Pipeline())
		return func(_ context.Context, e events.SourceRemoved) { *trace = append(*trace, "-"+e.Source.Pipeline()) }
	})
}

// BUS-10 PITFALL-12 PITFALL-13
func TestLifetimesTellALateObserverWhatLivesAndAnEarlyOneWhatComesAndGoes(t *testing.T) {
	bus := events.NewBus()
	a, b, gone := bus.NewSource(named("a")), bus.NewSource(named("b")), bus.NewSource(named("gone"))
	bus.Remove(gone)

	var late []string
	follow(bus, &late)
	if want := []string{"+a", "+b"}; !slices.Equal(late, want) {
		t.Fatalf("before Observe returns: %v, want %v", late, want)
	}
	c := bus.NewSource(named("c"))
	bus.Remove(a)
	bus.Remove(a) // again: nothing
	bus.Remove(gone)
	if want := []string{"+a", "+b", "+c", "-a"}; !slices.Equal(late, want) {
		t.Fatalf("then: %v, want %v", late, want)
	}
	if got := bus.Sources(); !slices.Equal(got, []*events.Source{b, c}) {
		t.Fatalf("Sources = %v, want b and c", got)
	}
}

// BUS-10
func TestLifetimesAreListedAndToldInTheOrderOfMaking(t *testing.T) {
	bus := events.NewBus()
	var made, told []*events.Source
	for range 30 {
		made = append(made, bus.NewSource(named("s", "layer")))
	}
	bus.Source.Observe(func(_ context.Context, e events.SourceAdded) func(context.Context, events.SourceRemoved) {
		told = append(told, e.Source)
		return nil
	})
	if !slices.Equal(bus.Sources(), made) || !slices.Equal(told, made) {
		t.Fatalf("listed %v, told %v, want them as they were made: %v", bus.Sources(), told, made)
	}
}

// BUS-10
func TestLifetimesAreThoseOfTheirOwnBus(t *testing.T) {
	bus, other := events.NewBus(), events.NewBus()
	var here, there []string
	follow(bus, &here)
	follow(other, &there)
	s := bus.NewSource(named("s", "layer"))
	other.Remove(s) // not its own: nothing
	bus.Remove(s.Layers()[0])
	if len(there) != 0 || !slices.Equal(here, []string{"+s"}) || !slices.Equal(bus.Sources(), []*events.Source{s}) {
		t.Fatalf("here %v, there %v, live %v", here, there, bus.Sources())
	}
	if table := events.NewTable(bus, func(*events.Source) *int { return new(int) }, nil); table.Get(s) == nil || table.Get(s.Layers()[0]) == nil {
		t.Fatal("a source, or its layer, counts as gone although it was never removed from its bus")
	}
}

// BUS-10
func TestLifetimesTellOfARemovedSourceByACopyThatReadsNothing(t *testing.T) {
	bus := events.NewBus()
	shared := bus.NewSource(events.SourceSpec{Layer: "db", Type: events.TypeBreaker, Settings: "5 in a row",
		Breaker: func() events.BreakerReading { return events.BreakerReading{State: events.StateOpen} },
		Limiter: func() events.LimiterReading { return events.LimiterReading{Limit: 3} }})
	spec := named("users.get", "first", "second")
	spec.Layers[1].Shared = shared
	pipeline := bus.NewSource(spec)

	if r, ok := shared.Breaker(); !ok || r.State != events.StateOpen {
		t.Errorf("Breaker = %v, %v while it lives", r, ok)
	}
	if r, ok := shared.Limiter(); !ok || r.Limit != 3 {
		t.Errorf("Limiter = %v, %v while it lives", r, ok)
	}
	if _, ok := pipeline.Breaker(); ok {
		t.Error("a pipeline reads a breaker")
	}
	if _, ok := pipeline.Limiter(); ok {
		t.Error("a pipeline reads a limiter")
	}
	removed := map[string]*events.Source{}
	bus.Source.Observe(func(context.Context, events.SourceAdded) func(context.Context, events.SourceRemoved) {
		return func(_ context.Context, e events.SourceRemoved) {
			removed[e.Source.Pipeline()+e.Source.Layer()] = e.Source
		}
	})
	bus.Remove(pipeline)
	bus.Remove(shared)

	p, b := removed["users.get"], removed["db"]
	if p == nil || p == pipeline || p.Index() != pipeline.Index() || p.Type() != events.TypePipeline || len(p.Layers()) != 2 {
		t.Fatalf("removed pipeline: %+v", p)
	}
	for i, l := range p.Layers() {
		of := pipeline.Layers()[i]
		if l == of || l.Layer() != of.Layer() || l.Pipeline() != "users.get" || l.Position() != i || l.Index() != of.Index() || l.Shared() != nil {
			t.Errorf("removed layer %d: %+v of %+v", i, l, of)
		}
	}
	if pipeline.Layers()[1].Shared() != shared {
		t.Error("the layer does not tell its shared state")
	}
	if b == nil || b == shared || b.Layer() != "db" || b.Settings() != "5 in a row" {
		t.Fatalf("removed shared state: %+v", b)
	}
	if _, ok := b.Breaker(); ok {
		t.Error("what is left of a removed breaker still reads it")
	}
	if _, ok := b.Limiter(); ok {
		t.Error("what is left of a removed limiter still reads it")
	}
}

// BUS-04 BUS-10
func TestLifetimesTellNothingAfterCancel(t *testing.T) {
	bus := events.NewBus()
	var trace, other []string
	cancel := follow(bus, &trace)
	follow(bus, &other)
	s := bus.NewSource(named("s"))
	cancel()
	cancel()
	bus.Remove(s)
	bus.NewSource(named("t"))
	if want := []string{"+s"}; !slices.Equal(trace, want) {
		t.Fatalf("%v, want %v", trace, want)
	}
	if want := []string{"+s", "-s", "+t"}; !slices.Equal(other, want) {
		t.Fatalf("the other observer: %v, want %v", other, want)
	}
}

// BUS-04 BUS-10
func TestLifetimesObserversThatCancelWhileToldLeaveTheOthersTheirNews(t *testing.T) {
	bus := events.NewBus()
	told := make([]int, 4)
	cancels := make([]func(), len(told))
	for i := range told {
		cancels[i] = bus.Source.Observe(func(context.Context, events.SourceAdded) func(context.Context, events.SourceRemoved) {
			if told[i]++; i%2 == 0 {
				cancels[i]()
			}
			return nil
		})
	}
	kept := []*events.Source{bus.NewSource(named("first")), bus.NewSource(named("second"))}
	if want := []int{1, 2, 1, 2}; !slices.Equal(told, want) {
		t.Fatalf("told %v times of %d sources, want %v", told, len(kept), want)
	}
}

// BUS-05 BUS-10
func TestLifetimesSurvivePanickingObservers(t *testing.T) {
	bus := events.NewBus()
	var panicked []string
	bus.HandlerPanicked.Subscribe(func(_ context.Context, e events.HandlerPanicked) {
		panicked = append(panicked, fmt.Sprint(e.Event, " ", e.Source.Pipeline(), " ", e.Value))
	})
	bus.Source.Observe(func(_ context.Context, e events.SourceAdded) func(context.Context, events.SourceRemoved) {
		if e.Source.Pipeline() == "bad" {
			panic("added")
		}
		return func(context.Context, events.SourceRemoved) { panic("removed") }
	})
	var trace []string
	follow(bus, &trace)
	bad, good := bus.NewSource(named("bad")), bus.NewSource(named("good"))
	bus.Remove(bad)
	bus.Remove(good)
	if want := []string{"source.added bad added", "source.removed good removed"}; !slices.Equal(panicked, want) {
		t.Errorf("panics %v, want %v", panicked, want)
	}
	if want := []string{"+bad", "+good", "-bad", "-good"}; !slices.Equal(trace, want) {
		t.Errorf("the other observer: %v, want %v", trace, want)
	}
}

// BUS-04 BUS-10
func TestLifetimesLetObserversMakeRemoveObserveAndCancel(t *testing.T) {
	bus := events.NewBus()
	var inner, last []string
	var cancel func()
	cancel = bus.Source.Observe(func(_ context.Context, e events.SourceAdded) func(context.Context, events.SourceRemoved) {
		if e.Source.Pipeline() != "first" {
			return nil
		}
		follow(bus, &inner)
		bus.Remove(bus.NewSource(named("within")))
		cancel()
		bus.Source.Observe(func(_ context.Context, e events.SourceAdded) func(context.Context, events.SourceRemoved) {
			last = append(last, e.Source.Pipeline())
			return nil
		})
		return nil
	})
	first := bus.NewSource(named("first"))
	keep := bus.NewSource(named("last"))
	if want := []string{"+first", "+within", "-within", "+last"}; !slices.Equal(inner, want) {
		t.Errorf("who observed within a handler: %v, want %v", inner, want)
	}
	if want := []string{"first", "last"}; !slices.Equal(last, want) {
		t.Errorf("who observed after: %v, want %v", last, want)
	}
	if got := bus.Sources(); !slices.Equal(got, []*events.Source{first, keep}) {
		t.Errorf("live: %v", got)
	}
}

func TestLifetimesRefuseANilObserver(t *testing.T) {
	if got := panicOf(func() { events.NewBus().Source.Observe(nil) }); got != "events: nil handler for source.added" {
		t.Fatalf("panics with %v", got)
	}
}
