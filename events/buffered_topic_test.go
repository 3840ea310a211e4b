package events_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/telltale-go/telltale/events"
)

// BUS-06 PITFALL-7
func TestSubscribeBufferedNeverBlocksThePublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		var shared sync.Mutex // the publisher holds what the handler wants
		var got []int
		bus.RetryStopped.SubscribeBuffered(2, func(ctx context.Context, e events.RetryStopped) {
			shared.Lock()
			defer shared.Unlock()
			if got = append(got, e.Attempts); e.Attempts == 1 {
				bus.RetryStopped.Publish(ctx, attempt(100)) // publishes to itself
			}
		})
		shared.Lock()
		for i := range 6 {
			bus.RetryStopped.Publish(t.Context(), attempt(i+1))
			runtime.Gosched()
		}
		shared.Unlock()
		synctest.Wait()
		if dropped := bus.Dropped(); len(got)+int(dropped) != 7 || dropped < 3 || !slices.IsSorted(got) || got[0] != 1 {
			t.Errorf("got %v with %d dropped, want 7 in all, in order, at least 3 dropped", got, dropped)
		}
	})
}

// BUS-04 BUS-06
func TestSubscribeBufferedDeliversWhatIsQueuedWhenItIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		var got []int
		cancel := bus.RetryStopped.SubscribeBuffered(8, func(_ context.Context, e events.RetryStopped) { got = append(got, e.Attempts) }).Cancel
		for i := range 5 {
			bus.RetryStopped.Publish(t.Context(), attempt(i+1))
		}
		cancel()
		cancel()
		bus.RetryStopped.Publish(t.Context(), attempt(6))
		synctest.Wait()
		if !slices.Equal(got, upTo(5)) || bus.RetryStopped.Heard() {
			t.Errorf("got %v, want 1 to 5; still heard: %v", got, bus.RetryStopped.Heard())
		}
	})
}

// BUS-05 BUS-06
func TestSubscribeBufferedGoesOnAfterPanicsAndGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		var got []int
		bus.RetryStopped.SubscribeBuffered(8, func(_ context.Context, e events.RetryStopped) {
			switch got = append(got, e.Attempts); e.Attempts {
			case 1:
				panic("once")
			case 2:
				runtime.Goexit()
			}
		})
		for i := range 4 {
			bus.RetryStopped.Publish(t.Context(), attempt(i+1))
		}
		synctest.Wait()
		if !slices.Equal(got, upTo(4)) || bus.HandlerPanics() != 1 {
			t.Errorf("got %v with %d panics, want 1 to 4 with 1", got, bus.HandlerPanics())
		}
	})
}

// BUS-06
func TestBufferedKeepsEachPublishersOrderAndLosesNoCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const publishers, each = 8, 200
		bus := events.NewBus()
		last := map[uint64]int{} // only its handler touches it, one at a time
		delivered := 0
		buffered := events.NewBuffered(bus, 16, func(_ context.Context, e events.Event) {
			runtime.Gosched()
			delivered++
			by := e.Header().Execution
			if n := number(e); n <= last[by] {
				t.Errorf("%d of publisher %d came after %d", n, by, last[by])
			}
			last[by] = number(e)
		})
		var all sync.WaitGroup
		for p := range uint64(publishers) {
			all.Go(func() {
				for i := range each {
					e := attempt(i + 1)
					e.Execution = p
					bus.RetryStopped.Publish(context.Background(), e)
					if i%50 == 0 {
						buffered.Dropped()
					}
				}
			})
		}
		all.Wait()
		if err := buffered.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := delivered + int(buffered.Dropped()); n != publishers*each || delivered < 16 {
			t.Errorf("%d delivered and %d dropped, want %d in all", delivered, buffered.Dropped(), publishers*each)
		}
	})
}

// BUS-06 PIPE-26
func TestBufferedMadeOutsideABubbleServesSeveral(t *testing.T) {
	bus := events.NewBus()
	var mu sync.Mutex
	var all, topic []int
	buffered := events.NewBuffered(bus, 100, func(_ context.Context, e events.Event) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, number(e))
	})
	defer bus.RetryStopped.SubscribeBuffered(100, func(_ context.Context, e events.RetryStopped) {
		mu.Lock()
		defer mu.Unlock()
		topic = append(topic, e.Attempts)
	}).Cancel()
	for bubble := range 3 {
		synctest.Test(t, func(t *testing.T) {
			for i := range 10 {
				bus.RetryStopped.Publish(t.Context(), attempt(10*bubble+i+1))
			}
			synctest.Wait()
			if bubble == 2 { // closed inside one, what it waits for is inside as well
				bus.RetryStopped.Publish(t.Context(), attempt(31))
				if err := buffered.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if err := buffered.Close(t.Context()); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(all, upTo(31)) || !slices.Equal(topic, upTo(31)) {
		t.Errorf("got %v and %v, want 1 to 31", all, topic)
	}
}

func TestBufferedRefusesANilHandler(t *testing.T) {
	bus := events.NewBus()
	if got := panicOf(func() { events.NewBuffered(bus, 1, nil) }); got != "events: nil handler for NewBuffered" {
		t.Errorf("NewBuffered panics with %v", got)
	}
	if got := panicOf(func() { bus.TimedOut.SubscribeBuffered(1, nil) }); got != "events: nil handler for timeout.fired" {
		t.Errorf("SubscribeBuffered panics with %v", got)
	}
}

func BenchmarkBuffered(b *testing.B) {
	bus := events.NewBus()
	defer bus.RetryStopped.SubscribeBuffered(1024, func(context.Context, events.RetryStopped) {}).Cancel()
	b.ReportAllocs()
	for b.Loop() {
		bus.RetryStopped.Publish(context.Background(), attempt(1))
	}
}

// BUS-06
func TestSubscribeBufferedCloseDeliversWhatIsQueuedAndCountsItsOwnDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		var got []int
		slow := make(chan struct{})
		b := bus.RetryStopped.SubscribeBuffered(2, func(_ context.Context, e events.RetryStopped) {
			<-slow
			got = append(got, e.Attempts)
		})
		for n := range 4 {
			bus.RetryStopped.Publish(t.Context(), events.RetryStopped{Attempts: n})
			synctest.Wait() // the first is with the handler, two wait, the last finds no room
		}
		if b.Dropped() != 1 || bus.Dropped() != 1 {
			t.Errorf("dropped %d of its own and %d on the bus, want 1 and 1", b.Dropped(), bus.Dropped())
		}
		close(slow)
		if err := b.Close(t.Context()); err != nil || !slices.Equal(got, []int{0, 1, 2}) {
			t.Errorf("Close: %v, delivered %v, want [0 1 2]", err, got)
		}
	})
}
