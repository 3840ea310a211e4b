package events_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
)

// collect runs the garbage collector until done says that something was collected.
func collect(t *testing.T, done <-chan struct{}) {
	t.Helper()
	giveUp := time.After(10 * time.Second)
	for {
		runtime.GC()
		select {
		case <-done:
			return
		case <-giveUp:
			t.Fatal("not collected")
		default:
			runtime.Gosched()
		}
	}
}

// leaving observes the bus and sends what is told of each source that goes.
func leaving(bus *events.Bus) (gone chan *events.Source, cancel func()) {
	gone = make(chan *events.Source, 16)
	cancel = bus.Source.Observe(func(context.Context, events.SourceAdded) func(context.Context, events.SourceRemoved) {
		return func(_ context.Context, e events.SourceRemoved) { gone <- e.Source }
	})
	return gone, cancel
}

// BUS-10
func TestDroppedSourcesLeaveByThemselves(t *testing.T) {
	bus := events.NewBus()
	opened, closed := 0, make(chan struct{}, 16)
	table := events.NewTable(bus, func(*events.Source) *int { opened++; return &opened }, func(*events.Source, *int) { closed <- struct{}{} })
	gone, cancel := leaving(bus)
	defer cancel()
	kept := bus.NewSource(named("kept"))
	func() {
		type state struct{ source *events.Source }
		b := new(state) // reads its own state and keeps its own source: a circle
		b.source = bus.NewSource(events.SourceSpec{Layer: "db", Type: events.TypeBreaker,
			Breaker: func() events.BreakerReading { return events.BreakerReading{Seq: uint64(b.source.Index())} }})
		spec := named("dropped", "layer")
		p := new(state) // so does a layer's
		spec.Layers[0].Shared = b.source
		spec.Layers[0].Limiter = func() events.LimiterReading { return events.LimiterReading{Usage: int64(p.source.Index())} }
		p.source = bus.NewSource(spec)
	}()
	left := map[string]bool{}
	done := make(chan struct{})
	go func() {
		for range 2 {
			s := <-gone
			left[s.Pipeline()+s.Layer()] = true
		}
		for range 3 {
			<-closed
		}
		close(done)
	}()
	collect(t, done)
	if !left["dropped"] || !left["db"] {
		t.Fatalf("left: %v, want the pipeline and the shared breaker", left)
	}
	if all := bus.Sources(); len(all) != 1 || all[0] != kept {
		t.Fatalf("live: %v, want what is kept", all)
	}
	if table.Get(kept) == nil || opened != 4 {
		t.Fatalf("opened %d rows, want 4", opened)
	}
}

// BUS-10
func TestALayerThatStillPublishesKeepsItsPipelineListed(t *testing.T) {
	bus := events.NewBus()
	dropped := make(chan struct{}, 16)
	table := events.NewTable(bus, func(*events.Source) *int { return new(int) }, func(*events.Source, *int) { dropped <- struct{}{} })
	gone, cancel := leaving(bus)
	defer cancel()
	layer := bus.NewSource(named("p", "layer")).Layers()[0] // an orphan's late result holds no more than this
	row := table.Get(layer)

	func() { bus.NewSource(named("canary")) }()
	collect(t, dropped) // whatever was dropped before is collected as well
	if s := <-gone; s.Pipeline() != "canary" {
		t.Fatalf("%s left although its layer is held", s.Pipeline())
	}
	if table.Get(layer) != row || row == nil || len(bus.Sources()) != 1 {
		t.Fatalf("the layer's row changed, or its pipeline is not listed: %v", bus.Sources())
	}
	runtime.KeepAlive(layer)
	layer = nil
	collect(t, dropped)
	if s := <-gone; s.Pipeline() != "p" {
		t.Fatalf("%s left, want p", s.Pipeline())
	}
}

// BUS-10
func TestObserversKeepNothingOfSourcesThatAreGone(t *testing.T) {
	bus := events.NewBus()
	collected := make(chan struct{}, 1)
	cancel := bus.Source.Observe(func(context.Context, events.SourceAdded) func(context.Context, events.SourceRemoved) {
		series := &[64]int{}
		runtime.AddCleanup(series, func(int) { collected <- struct{}{} }, 0)
		return func(context.Context, events.SourceRemoved) { series[0]++ }
	})
	defer cancel()
	bus.Remove(bus.NewSource(named("s")))
	collect(t, collected)
}

// BUS-10
func TestCollectingASourceNeverWaitsForAnObserver(t *testing.T) {
	blocked, other := events.NewBus(), events.NewBus()
	entered, proceed, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer blocked.Source.Observe(func(context.Context, events.SourceAdded) func(context.Context, events.SourceRemoved) {
		return func(context.Context, events.SourceRemoved) {
			close(entered)
			<-proceed
			close(ended)
		}
	})()
	func() { blocked.NewSource(named("slow")) }()
	collect(t, entered)

	left := make(chan struct{}, 1)
	defer other.Source.Observe(func(context.Context, events.SourceAdded) func(context.Context, events.SourceRemoved) {
		return func(context.Context, events.SourceRemoved) { left <- struct{}{} }
	})()
	func() { other.NewSource(named("quick")) }()
	collect(t, left) // would not be told if the runtime's cleanups waited
	close(proceed)
	<-ended
}
