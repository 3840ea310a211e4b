package resilience_test

import (
	"context"
	"maps"
	"runtime"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// BUS-12: who asks for the keys gets each one's state; the source's own reading has none.
func TestEachGateOfAKeyedIsRead(t *testing.T) {
	bus := events.NewBus()
	k := byKey(bus, fragileEach, nil)
	visit(t, k, "a")
	_ = k.RunKey(t.Context(), "b", fail)
	keys, ok := bus.Sources()[0].Keys()
	if !ok {
		t.Fatal("the source of a Keyed reads no keys")
	}
	got := map[string]events.State{}
	for r := range keys {
		if r.Limiter != nil {
			t.Errorf("%q is a limiter", r.Key)
		}
		got[r.Key] = r.Breaker.State
	}
	if want := (map[string]events.State{"": events.StateClosed, "a": events.StateClosed, "b": events.StateOpen}); !maps.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
	for range keys {
		break
	}
	rooms := byKey(bus, roomEach, nil)
	visit(t, rooms, "a")
	for _, s := range bus.Sources() {
		if keys, ok := s.Keys(); ok && s.Type() == events.TypeBulkhead {
			for r := range keys {
				if r.Limiter == nil || r.Breaker != nil {
					t.Errorf("%q is no limiter", r.Key)
				}
			}
		}
	}
	runtime.KeepAlive(rooms)
	runtime.KeepAlive(k)
}

// BUS-10: who learns of a Keyed may read it at once.
func TestAKeyedIsReadWhileItIsMade(t *testing.T) {
	bus := events.NewBus()
	read := 0
	bus.Source.Observe(func(_ context.Context, e events.SourceAdded) func(context.Context, events.SourceRemoved) {
		if keys, ok := e.Source.Keys(); ok {
			for range keys {
				t.Error("a gate before there is one")
			}
		}
		if b, ok := e.Source.Breaker(); ok && b.State == 0 {
			read++
		}
		if l, ok := e.Source.Limiter(); ok && l.Limit == 0 {
			read++
		}
		return nil
	})
	breakers, rooms := byKey(bus, fragileEach, nil), byKey(bus, roomEach, nil)
	for _, s := range bus.Subscribers() {
		if s.HandlerPanics() != 0 {
			t.Error("the reading panicked")
		}
	}
	if read != 2 {
		t.Errorf("%d were read, want both", read)
	}
	runtime.KeepAlive([]*resilience.Keyed{breakers, rooms})
}
