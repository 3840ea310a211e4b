package events_test

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/telltale-go/telltale/events"
)

const thisPackage = "github.com/telltale-go/telltale/events_test"

// counts returns what a bus counts, by subscriber: panics and dropped events.
func counts(bus *events.Bus) map[string][2]uint64 {
	all := map[string][2]uint64{}
	for _, s := range bus.Subscribers() {
		all[s.Name()] = [2]uint64{s.HandlerPanics(), s.Dropped()}
	}
	return all
}

// viaReflect returns the subscriber of the package that calls for it: reflect.
func viaReflect(bus *events.Bus) *events.Subscriber {
	return reflect.ValueOf(bus.Subscriber).Call(nil)[0].Interface().(*events.Subscriber)
}

// BUS-05 BUS-06: whatever way somebody subscribes, the bus knows who it is, before anything is counted.
func TestSubscribersAreNamedForTheirPackage(t *testing.T) {
	ctx := t.Context()
	nothing := func(context.Context, events.Event) {}
	for way, subscribe := range map[string]func(*events.Bus) (cancel func()){
		"Topic.Subscribe": func(b *events.Bus) func() { return b.TimedOut.Subscribe(func(context.Context, events.TimedOut) {}) },
		"Topic.SubscribeBuffered": func(b *events.Bus) func() {
			return b.TimedOut.SubscribeBuffered(1, func(context.Context, events.TimedOut) {}).Cancel
		},
		"Interval.Observe": func(b *events.Bus) func() {
			return b.Attempt.Observe(func(context.Context, events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
				return nil, nil
			})
		},
		"Interval.Watch": func(b *events.Bus) func() {
			return b.Attempt.Watch(func(context.Context, events.AttemptStarted) func(events.AttemptFinished) { return nil })
		},
		"Interval.SubscribeEnds": func(b *events.Bus) func() {
			return b.Attempt.SubscribeEnds(func(context.Context, events.AttemptFinished) {})
		},
		"Source.Observe": func(b *events.Bus) func() {
			return b.Source.Observe(func(context.Context, events.SourceAdded) func(context.Context, events.SourceRemoved) { return nil })
		},
		"Warnings.Subscribe": func(b *events.Bus) func() {
			return b.ConfigWarning.Subscribe(func(context.Context, events.ConfigWarning) {})
		},
		"Bus.Subscribe": func(b *events.Bus) func() { return b.Subscribe(nothing) },
		"NewBuffered":   func(b *events.Bus) func() { return events.NewBuffered(b, 1, nothing).Cancel },
		"NewTable": func(b *events.Bus) func() {
			return events.NewTable(b, func(*events.Source) *int { return nil }, nil).Close
		},
	} {
		bus := events.NewBus()
		subscribe(bus)()
		bus.TimedOut.Publish(ctx, events.TimedOut{})
		got := counts(bus)
		if _, known := got[thisPackage]; !known || len(got) != 2 {
			t.Errorf("%s: subscribers %v, want %s and %s", way, got, events.OutboxSubscriber, thisPackage)
		}
	}
}

// BUS-05: a panic is counted against whose handler it was, at starts, at ends and behind a queue.
func TestPanicsAreCountedAgainstTheSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		viaReflect(bus) // package reflect is another subscriber
		panics := func(context.Context, events.TimedOut) { panic("always") }
		bus.TimedOut.Subscribe(panics)
		bus.TimedOut.SubscribeBuffered(1, panics)
		bus.Attempt.Observe(func(context.Context, events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
			panic("start")
		})
		bus.Subscribe(func(_ context.Context, e events.Event) {
			if _, ends := e.(events.AttemptFinished); ends {
				panic("end")
			}
		})
		bus.TimedOut.Publish(t.Context(), events.TimedOut{})
		var ends events.Ends[events.AttemptFinished]
		bus.Attempt.Begin(t.Context(), events.AttemptStarted{}, &ends)
		ends.Finish(events.AttemptFinished{})
		synctest.Wait()
		want := [2]uint64{4, 0}
		if got := counts(bus); got[thisPackage] != want || got["reflect"] != [2]uint64{} || bus.HandlerPanics() != 4 {
			t.Errorf("counted %v, want %v against %s", got, want, thisPackage)
		}
	})
}

// BUS-06: who misses an event is told, and what no subscriber got is not put on one.
func TestDroppedEventsAreCountedAgainstTheSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		release := make(chan struct{})
		b := bus.TimedOut.SubscribeBuffered(1, func(context.Context, events.TimedOut) { <-release })
		for range 5 {
			bus.TimedOut.Publish(t.Context(), events.TimedOut{})
			synctest.Wait()
		}
		close(release)
		bus.CountDropped()
		viaReflect(bus).CountDropped()
		got := counts(bus)
		if got[thisPackage] != [2]uint64{0, 3} || got[events.OutboxSubscriber] != [2]uint64{0, 1} || got["reflect"] != [2]uint64{0, 1} {
			t.Errorf("counted %v", got)
		}
		if bus.Dropped() != 5 || b.Dropped() != 3 {
			t.Errorf("%d dropped, %d of the subscription, want 5 and 3", bus.Dropped(), b.Dropped())
		}
	})
}

func TestSubscribersAreListedByNameOnceEach(t *testing.T) {
	bus := events.NewBus()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				bus.TimedOut.Subscribe(func(context.Context, events.TimedOut) {})()
				viaReflect(bus)
				bus.Subscribers()
			}
		})
	}
	all.Wait()
	var names []string
	for _, s := range bus.Subscribers() {
		names = append(names, s.Name())
	}
	if want := []string{thisPackage, events.OutboxSubscriber, "reflect"}; !slices.Equal(names, want) {
		t.Errorf("subscribers %q, want %q", names, want)
	}
}
