package events_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
)

// warn publishes a warning of a source.
func warn(bus *events.Bus, s *events.Source, code string) {
	bus.ConfigWarning.Publish(context.Background(), events.ConfigWarning{Meta: events.Meta{Source: s}, Code: code})
}

// hear subscribes and appends the codes to all.
func hear(all *[]string) func(context.Context, events.ConfigWarning) {
	return func(_ context.Context, e events.ConfigWarning) { *all = append(*all, e.Code) }
}

// PIPE-10
func TestEachSubscriberGetsEachWarningOnceWheneverItSubscribes(t *testing.T) {
	bus := events.NewBus()
	var early, late, everything []string
	bus.ConfigWarning.Subscribe(hear(&early))
	a, b := bus.NewSource(named("a", "layer")), bus.NewSource(named("b"))
	warn(bus, b, "b1")
	warn(bus, a.Layers()[0], "a1") // a layer's is kept with its pipeline
	cancel := bus.ConfigWarning.Subscribe(hear(&late))
	bus.Subscribe(func(_ context.Context, e events.Event) { // a source is known before its warnings
		text := e.EventName() + " " + e.Header().Source.Pipeline()
		if w, ok := e.(events.ConfigWarning); ok {
			text = w.Code
		}
		everything = append(everything, text)
	})
	warn(bus, a, "a2")
	cancel()
	cancel()
	warn(bus, a, "a3")
	if want := []string{"b1", "a1", "a2", "a3"}; !slices.Equal(early, want) {
		t.Errorf("an early subscriber got %v, want %v", early, want)
	}
	if want := []string{"a1", "b1", "a2"}; !slices.Equal(late, want) {
		t.Errorf("a late one that left got %v, want %v", late, want)
	}
	if want := []string{"source.added a", "source.added b", "a1", "b1", "a2", "a3"}; !slices.Equal(everything, want) {
		t.Errorf("a subscriber to everything got %v, want %v", everything, want)
	}
	if kept := a.Warnings(); len(kept) != 3 || kept[0].Code != "a1" || kept[0].Source != a.Layers()[0] || b.Warnings()[0].Code != "b1" {
		t.Errorf("kept are %v of a and %v of b", kept, b.Warnings())
	}
}

// PIPE-10
func TestWarningsGoWithTheirSource(t *testing.T) {
	bus, other := events.NewBus(), events.NewBus()
	stays, goes := bus.NewSource(named("stays")), bus.NewSource(named("goes"))
	warn(bus, stays, "stays")
	warn(bus, goes, "goes")
	bus.Remove(goes)
	warn(bus, goes, "after its end")
	warn(bus, nil, "of nothing")
	warn(other, stays, "on another bus")
	var late []string
	bus.ConfigWarning.Subscribe(hear(&late))
	if want := []string{"stays"}; !slices.Equal(late, want) || len(goes.Warnings()) != 1 || len(stays.Warnings()) != 1 {
		t.Errorf("got %v, want %v", late, want)
	}
}

// PIPE-10: warnings hold their source, and that is no reason for it to live.
func TestASourceWithWarningsIsCollected(t *testing.T) {
	bus := events.NewBus()
	gone, cancel := leaving(bus)
	defer cancel()
	bus.ConfigWarning.Subscribe(func(context.Context, events.ConfigWarning) {})
	func() {
		s := bus.NewSource(named("dropped", "layer"))
		warn(bus, s, "one")
		warn(bus, s.Layers()[0], "two")
	}()
	done := make(chan struct{})
	go func() { <-gone; close(done) }()
	collect(t, done)
	bus.ConfigWarning.Subscribe(func(_ context.Context, e events.ConfigWarning) { t.Errorf("%v outlived its source", e) })
}

// PIPE-10
func TestWarningsThatAreKeptAreBounded(t *testing.T) {
	bus := events.NewBus()
	s := bus.NewSource(named("s"))
	var early, late []string
	bus.ConfigWarning.Subscribe(hear(&early))
	for i := range 100 {
		warn(bus, s, fmt.Sprint(i))
	}
	bus.ConfigWarning.Subscribe(hear(&late))
	if len(early) != 100 || len(late) != 32 || late[31] != "31" || len(s.Warnings()) != 32 {
		t.Errorf("%d were told, %d of them again, and %d kept; want 100, the first 32, and 32", len(early), len(late), len(s.Warnings()))
	}
}

// PIPE-10 BUS-06
func TestWhatWasKeptFindsRoomInEveryBuffer(t *testing.T) {
	bus := events.NewBus()
	for i := range 20 {
		warn(bus, bus.NewSource(named(fmt.Sprint(i))), "kept")
	}
	var mu sync.Mutex
	topic, all := 0, 0
	one := bus.ConfigWarning.SubscribeBuffered(1, func(context.Context, events.ConfigWarning) {
		mu.Lock()
		defer mu.Unlock()
		topic++
	})
	every := events.NewBuffered(bus, 1, func(_ context.Context, e events.Event) {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := e.(events.ConfigWarning); ok {
			all++
		}
	})
	if one.Close(t.Context()) != nil || every.Close(t.Context()) != nil || topic != 20 || all != 20 || one.Dropped() != 0 {
		t.Errorf("buffered subscribers got %d and %d of 20 warnings, %d dropped", topic, all, one.Dropped())
	}
}

// PIPE-10 BUS-06
func TestABufferedSubscriptionToWarningsIsBounded(t *testing.T) {
	bus := events.NewBus()
	s := bus.NewSource(named("s"))
	release := make(chan struct{})
	var got []string
	b := bus.ConfigWarning.SubscribeBuffered(2, func(_ context.Context, e events.ConfigWarning) {
		<-release
		got = append(got, e.Code)
	})
	for i := range 10 {
		warn(bus, s, fmt.Sprint(i))
	}
	close(release)
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if dropped := b.Dropped(); dropped < 7 || uint64(len(got))+dropped != 10 || bus.Dropped() != dropped {
		t.Errorf("got %v, dropped %d, on the bus %d", got, dropped, bus.Dropped())
	}
}

// BUS-05 PIPE-13
func TestAHandlerOfWarningsThatPanicsOrEndsItsGoroutineHarmsNobody(t *testing.T) {
	bus := events.NewBus()
	var panics, codes []string
	bus.HandlerPanicked.Subscribe(func(_ context.Context, e events.HandlerPanicked) { panics = append(panics, e.Event) })
	bus.ConfigWarning.Subscribe(func(_ context.Context, e events.ConfigWarning) {
		switch e.Code {
		case "panic":
			panic("boom")
		case "exit":
			runtime.Goexit()
		}
	})
	bus.ConfigWarning.Subscribe(hear(&codes))
	s := bus.NewSource(named("s"))
	for _, code := range []string{"panic", "exit", "fine"} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			warn(bus, s, code)
		}()
		<-done
	}
	if want := []string{"panic", "exit", "fine"}; !slices.Equal(codes, want) || len(panics) != 1 || panics[0] != "config.warning" {
		t.Errorf("the other handler got %v, want %v; panics in %v", codes, want, panics)
	}
}

// BUS-04
func TestAHandlerOfWarningsMaySubscribeWarnAndMakeSources(t *testing.T) {
	bus := events.NewBus()
	told := make(chan string, 16)
	bus.ConfigWarning.Subscribe(func(_ context.Context, e events.ConfigWarning) {
		if e.Code != "first" {
			return
		}
		bus.ConfigWarning.Subscribe(func(_ context.Context, e events.ConfigWarning) { told <- e.Code })
		warn(bus, bus.NewSource(named("made inside")), "second")
	})
	s := bus.NewSource(named("s"))
	warn(bus, s, "first")
	var got []string
	for range 2 {
		select {
		case code := <-told:
			got = append(got, code)
		case <-time.After(10 * time.Second):
			t.Fatalf("only %v was told", got)
		}
	}
	if want := "first second"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// BUS-04 PIPE-10
func TestWhatComesWhileASubscriberIsToldWhatWasKeptIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		s := bus.NewSource(named("s"))
		warn(bus, s, "kept")
		var got []string
		bus.ConfigWarning.Subscribe(func(_ context.Context, e events.ConfigWarning) {
			if got = append(got, e.Code); e.Code == "kept" {
				warn(bus, s, "meanwhile")
			}
		})
		synctest.Wait()
		if want := []string{"kept", "meanwhile"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// BUS-04
func TestASubscriberThatHasLeftIsNotToldWhatWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		s := bus.NewSource(named("s"))
		var got []string
		var cancel func()
		cancel = bus.ConfigWarning.Subscribe(func(_ context.Context, e events.ConfigWarning) {
			got = append(got, e.Code)
			warn(bus, s, "waits")
			cancel()
		})
		warn(bus, s, "first")
		synctest.Wait()
		if want := []string{"first"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// BUS-04: many subscribe while many warn, and each subscriber gets each warning once.
func TestNoWarningIsMissedOrToldTwiceWhileSubscribersCome(t *testing.T) {
	bus := events.NewBus()
	var all sync.WaitGroup
	var mu sync.Mutex // guards counts and total
	var counts [8]map[string]int
	total := 0
	sources := make([]*events.Source, 4*25)
	for i := range 4 {
		all.Go(func() {
			for k := range 25 {
				s := bus.NewSource(named(fmt.Sprint(i, " ", k)))
				sources[i*25+k] = s
				warn(bus, s, s.Pipeline())
			}
		})
	}
	for i := range counts {
		counts[i] = map[string]int{}
		all.Go(func() {
			bus.ConfigWarning.Subscribe(func(_ context.Context, e events.ConfigWarning) {
				mu.Lock()
				defer mu.Unlock()
				counts[i][e.Code]++
				total++
			})
		})
	}
	all.Wait()
	told := func() int { mu.Lock(); defer mu.Unlock(); return total }
	for giveUp := time.Now().Add(10 * time.Second); told() < 800 && time.Now().Before(giveUp); {
		runtime.Gosched() // what one goroutine left to another is told soon after
	}
	mu.Lock()
	defer mu.Unlock()
	for i, codes := range counts {
		if len(codes) != 100 || total != 800 {
			t.Errorf("subscriber %d got %d of 100 warnings; %d were told, want 800", i, len(codes), total)
		}
	}
	runtime.KeepAlive(sources)
}
