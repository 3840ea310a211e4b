package events_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
)

// attempt is an event that carries a number.
func attempt(n int) events.RetryStopped { return events.RetryStopped{Attempts: n} }

// number returns it; -1 for other events.
func number(e events.Event) int {
	if e, ok := e.(events.RetryStopped); ok {
		return e.Attempts
	}
	return -1
}

// upTo returns 1..n.
func upTo(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

// BUS-06 PITFALL-7
func TestBufferedNeverBlocksThePublisherAndCountsDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		var got []int
		proceed := make(chan struct{})
		buffered := events.NewBuffered(bus, 3, func(_ context.Context, e events.Event) {
			<-proceed
			got = append(got, number(e))
		})
		bus.RetryStopped.Publish(t.Context(), attempt(1))
		synctest.Wait() // the handler has the first: three more can wait
		for i := 2; i <= 10; i++ {
			bus.RetryStopped.Publish(t.Context(), attempt(i)) // would deadlock if it blocked
		}
		if buffered.Dropped() != 6 || bus.Dropped() != 6 {
			t.Errorf("Dropped = %d, of the bus %d, want 6", buffered.Dropped(), bus.Dropped())
		}
		close(proceed)
		synctest.Wait()
		bus.RetryStopped.Publish(t.Context(), attempt(11)) // there is room again
		synctest.Wait()
		if want := []int{1, 2, 3, 4, 11}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if buffered.Dropped() != 6 {
			t.Errorf("Dropped = %d, want 6", buffered.Dropped())
		}
	})
}

// BUS-06
func TestBufferedQueuesAtLeastOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, size := range []int{-1, 0, 1} {
			bus := events.NewBus()
			var got []int
			proceed := make(chan struct{})
			events.NewBuffered(bus, size, func(_ context.Context, e events.Event) { <-proceed; got = append(got, number(e)) })
			for i := range 3 {
				bus.RetryStopped.Publish(t.Context(), attempt(i+1))
				synctest.Wait()
			}
			close(proceed)
			synctest.Wait()
			if want := []int{1, 2}; !slices.Equal(got, want) || bus.Dropped() != 1 {
				t.Errorf("size %d: got %v with %d dropped, want %v with 1", size, got, bus.Dropped(), want)
			}
		}
	})
}

// BUS-06
func TestBufferedCloseDeliversWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		var got []int
		buffered := events.NewBuffered(bus, 100, func(_ context.Context, e events.Event) {
			time.Sleep(time.Second) // virtual: slow
			got = append(got, number(e))
		})
		for i := range 50 {
			bus.RetryStopped.Publish(t.Context(), attempt(i+1))
		}
		var closers sync.WaitGroup
		for range 3 { // whoever closes waits
			closers.Go(func() {
				if err := buffered.Close(t.Context()); err != nil || len(got) != 50 {
					t.Errorf("Close = %v with %d delivered", err, len(got))
				}
			})
		}
		closers.Wait()
		if !slices.Equal(got, upTo(50)) || bus.CallsHeard() {
			t.Errorf("got %v; still subscribed: %v", got, bus.CallsHeard())
		}
		bus.RetryStopped.Publish(t.Context(), attempt(51))
		if err := buffered.Close(t.Context()); err != nil || len(got) != 50 {
			t.Errorf("closing again: %v, %d delivered", err, len(got))
		}
	})
}

// BUS-06
func TestBufferedCloseReturnsWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		var got []int
		proceed := make(chan struct{})
		buffered := events.NewBuffered(bus, 10, func(_ context.Context, e events.Event) { <-proceed; got = append(got, number(e)) })
		bus.RetryStopped.Publish(t.Context(), attempt(1))
		bus.RetryStopped.Publish(t.Context(), attempt(2))

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if err := buffered.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("Close = %v after %v, want its deadline after 1m", err, time.Since(start))
		}
		close(proceed)
		if err := buffered.Close(t.Context()); err != nil || !slices.Equal(got, []int{1, 2}) {
			t.Errorf("Close = %v, delivered %v: what was queued is not lost", err, got)
		}
		if err := buffered.Close(ctx); err != nil {
			t.Errorf("Close = %v although nothing is queued", err)
		}
	})
}

// BUS-04 BUS-06
func TestBufferedCallsNoHandlerAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		closed := false
		buffered := events.NewBuffered(bus, 10, func(_ context.Context, e events.Event) {
			if closed {
				t.Errorf("%s came after Close", e.EventName())
			}
		})
		call(t.Context(), bus, func(context.Context) { // its end is still to come
			if err := buffered.Close(t.Context()); err != nil {
				t.Error(err)
			}
			closed = true
		})
		synctest.Wait()
		if n := buffered.Dropped(); n != 0 {
			t.Errorf("Dropped = %d: what comes after Close is not meant for it", n)
		}
	})
}

// BUS-05 BUS-06
func TestBufferedGoesOnAfterPanicsAndGoexitInItsHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		var panicked []any
		bus.HandlerPanicked.Subscribe(func(_ context.Context, e events.HandlerPanicked) { panicked = append(panicked, e.Value) })
		var got []int
		published := make(chan struct{})
		buffered := events.NewBuffered(bus, 100, func(_ context.Context, e events.Event) {
			<-published
			n := number(e)
			switch got = append(got, n); {
			case n < 0: // the panic it caused, which it hears of as well
				panic("and again")
			case n%3 == 0:
				panic(n)
			case n%5 == 0:
				runtime.Goexit()
			}
		})
		for i := range 10 {
			bus.RetryStopped.Publish(t.Context(), attempt(i+1))
		}
		close(published)
		synctest.Wait()
		if err := buffered.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if want := append(upTo(10), -1, -1, -1); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if want := []any{3, 6, 9}; !slices.Equal(panicked, want) || bus.HandlerPanics() != 6 {
			t.Errorf("panics %v, %d in all, want %v and 6", panicked, bus.HandlerPanics(), want)
		}
	})
}

// BUS-06 PITFALL-22
func TestBufferedHandlerHasTheValuesOfTheCallAndOutlivesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		bus := events.NewBus()
		var got []string
		handle := func(ctx context.Context) { got = append(got, fmt.Sprint(ctx.Value(key{}), " ", ctx.Err())) }
		events.NewBuffered(bus, 1, func(ctx context.Context, _ events.Event) { handle(ctx) })
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "trace"))
		bus.RetryStopped.Publish(ctx, attempt(1))
		cancel()
		synctest.Wait()
		if want := []string{"trace <nil>"}; !slices.Equal(got, want) {
			t.Errorf("the handler's context: %v, want %v", got, want)
		}
	})
}
