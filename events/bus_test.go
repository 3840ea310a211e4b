package events_test

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// publishAll publishes a zero event of every topic of the bus, and runs every interval, and returns their names. It finds
// them by reflection, so a topic that NewBus or the catalogue forgot is found as well.
func publishAll(ctx context.Context, bus *events.Bus) (names []string) {
	fields := reflect.ValueOf(bus).Elem()
	for i := range fields.NumField() {
		if !fields.Type().Field(i).IsExported() {
			continue
		}
		field := fields.Field(i).Addr()
		zero := func(t reflect.Type) reflect.Value {
			e := reflect.Zero(t)
			names = append(names, e.Interface().(events.Event).EventName())
			return e
		}
		if publish := field.MethodByName("Publish"); publish.IsValid() {
			publish.Call([]reflect.Value{reflect.ValueOf(ctx), zero(publish.Type().In(1))})
		} else if begin := field.MethodByName("Begin"); begin.IsValid() {
			ends := reflect.New(begin.Type().In(2).Elem())
			begin.Call([]reflect.Value{reflect.ValueOf(ctx), zero(begin.Type().In(1)), ends})
			finish := ends.MethodByName("Finish")
			finish.Call([]reflect.Value{zero(finish.Type().In(0))})
		}
	}
	return names
}

// catalogued returns the names of the catalogue's events, sorted.
func catalogued() (names []string) {
	for _, k := range events.Catalogue() {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return names
}

// BUS-13
func TestBusSubscribeHearsEveryKindOfTheCatalogueOnce(t *testing.T) {
	bus := events.NewBus()
	var got []string
	cancel := bus.Subscribe(func(_ context.Context, e events.Event) { got = append(got, e.EventName()) })
	published := publishAll(t.Context(), bus)
	bus.Remove(bus.NewSource(named("s")))
	published = append(published, "source.added", "source.removed")
	if !slices.Equal(got, published) {
		t.Errorf("heard %v, want %v: is there a row in catalogue.go, and a hub in NewBus?", got, published)
	}
	if slices.Sort(published); !slices.Equal(published, catalogued()) {
		t.Fatalf("the bus publishes %v, the catalogue lists %v", published, catalogued())
	}
	cancel()
	cancel()
	publishAll(t.Context(), bus)
	bus.NewSource(named("t"))
	if len(got) != len(published) || bus.CallsHeard() {
		t.Errorf("after cancel: heard %v; still subscribed: %v", got[len(published):], bus.CallsHeard())
	}
}

// BUS-10
func TestBusSubscribeFirstLearnsOfWhatLives(t *testing.T) {
	bus := events.NewBus()
	s := bus.NewSource(named("s"))
	var got []events.Event
	bus.Subscribe(func(_ context.Context, e events.Event) { got = append(got, e) })
	if len(got) != 1 || got[0].EventName() != "source.added" || got[0].Header().Source != s || got[0].Header().At.IsZero() {
		t.Fatalf("got %v, want that s was added", got)
	}
}

// BUS-07
func TestBusSubscribeGivesTheEndTheContextOfTheStart(t *testing.T) {
	type key struct{}
	bus := events.NewBus()
	bus.Attempt.Observe(func(ctx context.Context, _ events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
		return context.WithValue(ctx, key{}, "span"), nil
	})
	var got []any
	bus.Subscribe(func(ctx context.Context, e events.Event) { got = append(got, e.EventName(), ctx.Value(key{})) })
	call(t.Context(), bus, func(ctx context.Context) {
		if ctx.Value(key{}) != "span" {
			t.Error("a subscriber to everything changed the context")
		}
	})
	if want := []any{"attempt.started", "span", "attempt.finished", "span"}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// PITFALL-11
func TestBusEverySubscriberGetsEveryEvent(t *testing.T) {
	bus := events.NewBus()
	var counts [3]int
	for i := range counts {
		bus.Subscribe(func(context.Context, events.Event) { counts[i]++ })
	}
	n := len(publishAll(t.Context(), bus))
	if counts != [3]int{n, n, n} {
		t.Fatalf("got %v, want %d each", counts, n)
	}
}

// BUS-11
func TestOffHearsNothing(t *testing.T) {
	off := events.Off()
	fail := func() { t.Error("a subscriber of Off was called") }
	cancels := []func(){
		off.Subscribe(func(context.Context, events.Event) { fail() }),
		off.TimedOut.Subscribe(func(context.Context, events.TimedOut) { fail() }),
		off.TimedOut.SubscribeBuffered(1, func(context.Context, events.TimedOut) { fail() }).Cancel,
		off.Attempt.Observe(func(context.Context, events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
			fail()
			return nil, nil
		}),
		off.Source.Observe(func(context.Context, events.SourceAdded) func(context.Context, events.SourceRemoved) {
			fail()
			return nil
		}),
	}
	buffered := events.NewBuffered(off, 1, func(context.Context, events.Event) { fail() })
	publishAll(t.Context(), off)
	off.Remove(off.NewSource(named("s")))
	if off.CallsHeard() || off.TimedOut.Heard() || off.Attempt.Heard() {
		t.Error("Off is heard")
	}
	for _, cancel := range cancels {
		cancel()
	}
	if err := buffered.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOnlyABusThatNewBusMadeIsReady(t *testing.T) {
	if new(events.Bus).Ready() || !events.NewBus().Ready() || !events.Default().Ready() || !events.Off().Ready() {
		t.Fatal("Ready does not tell who made the bus")
	}
}

func TestDefaultIsOneBus(t *testing.T) {
	if first, second := events.Default(), events.Default(); first != second || first == events.Off() {
		t.Fatal("Default is not one bus of its own")
	}
}

// BUS-03
func TestBusCountsWhatPublishersDrop(t *testing.T) {
	bus := events.NewBus()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				bus.CountDropped()
			}
		})
	}
	all.Wait()
	if bus.Dropped() != 400 || events.NewBus().Dropped() != 0 {
		t.Fatalf("Dropped = %d, want 400", bus.Dropped())
	}
}

// BUS-04
func TestBusSubscribersComeAndGoWhileItPublishes(t *testing.T) {
	bus := events.NewBus()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				bus.Subscribe(func(context.Context, events.Event) {})()
			}
		})
		all.Go(func() {
			for range 50 {
				publishAll(context.Background(), bus)
				bus.Remove(bus.NewSource(named("s")))
			}
		})
	}
	all.Wait()
	if bus.CallsHeard() {
		t.Fatal("heard although every subscriber has left")
	}
}
