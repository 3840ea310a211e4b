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

// owner keeps an outbox the way a breaker does: changes under its lock, delivery outside.
type owner struct {
	mu      sync.Mutex
	box     events.Outbox[int]
	receive func(int)
}

func (o *owner) put(all ...int) {
	o.mu.Lock()
	for _, e := range all {
		o.box.Put(e, 0)
	}
	o.box.Deliver(&o.mu, o.receive)
}

// BUS-03
func TestOutboxDeliversInOrderWithoutTheLockBeforeItReturns(t *testing.T) {
	var o owner
	var got []int
	o.receive = func(e int) {
		o.mu.Lock() // would hang if it were held
		got = append(got, e)
		o.mu.Unlock()
	}
	o.put(1, 2, 3)
	if want := []int{1, 2, 3}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	o.put() // empty: only releases the lock
	o.put(4)
	if want := []int{1, 2, 3, 4}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// BUS-03
func TestOutboxNoCallDeliversWhatCameAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o owner
		var got []int
		entered, proceed := make(chan struct{}), make(chan struct{})
		slow := sync.OnceFunc(func() { close(entered); <-proceed })
		handedOver := make(chan struct{})
		o.receive = func(e int) {
			slow()
			if e == 3 {
				<-handedOver // only a goroutine of its own can wait for the first call's return
			}
			got = append(got, e)
		}
		var first sync.WaitGroup
		first.Go(func() { o.put(1, 2) })
		<-entered
		o.put(3) // others never wait: it returns although nothing was delivered
		o.put(4)
		if got != nil {
			t.Fatalf("delivered %v although the receiver is busy", got)
		}
		close(proceed)
		first.Wait() // would hang if it delivered 3 as well
		if want := []int{1, 2}; !slices.Equal(got, want) {
			t.Fatalf("the first call delivered %v, want its own %v", got, want)
		}
		close(handedOver)
		synctest.Wait()
		if want := []int{1, 2, 3, 4}; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// BUS-03 BUS-04
func TestOutboxTakesWhatItsReceiverPuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o owner
		var got []int
		returned := make(chan struct{})
		o.receive = func(e int) {
			if e > 1 {
				<-returned // only another goroutine can wait for the call's return
			}
			got = append(got, e)
			if e < 100 {
				o.put(e + 1) // no recursion: the receiver is busy with e
				if len(got) != e {
					t.Errorf("%d was delivered while %d was", e+1, e)
				}
			}
		}
		o.put(1)
		if want := []int{1}; !slices.Equal(got, want) {
			t.Fatalf("the call delivered %v, want %v: a chain of events must not hold it", got, want)
		}
		close(returned)
		synctest.Wait()
		for i, e := range got {
			if e != i+1 {
				t.Fatalf("out of order: %v", got)
			}
		}
		if len(got) != 100 {
			t.Fatalf("%d events, want 100", len(got))
		}
	})
}

// BUS-03
func TestOutboxIsBoundedAndDropsShowAsAGap(t *testing.T) {
	var o owner
	var got []int
	o.receive = func(e int) { got = append(got, e) }
	o.mu.Lock()
	for e := range 10 {
		if put := o.box.Put(e, 4); put != (e < 4) {
			t.Errorf("Put(%d) = %v with room for 4", e, put)
		}
	}
	if n := o.box.Dropped(); n != 6 {
		t.Errorf("Dropped = %d, want 6", n)
	}
	o.box.Deliver(&o.mu, o.receive)
	o.put(10)
	if want := []int{0, 1, 2, 3, 10}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// BUS-03 PITFALL-2
func TestOutboxSurvivesGoexitInItsReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o owner
		var got []int
		o.receive = func(e int) {
			got = append(got, e)
			runtime.Goexit()
		}
		var caller sync.WaitGroup
		caller.Go(func() {
			o.put(1, 2, 3)
			t.Error("the caller's goroutine goes on after Goexit")
		})
		caller.Wait()
		synctest.Wait()
		caller.Go(func() { o.put(4) })
		caller.Wait()
		synctest.Wait()
		if want := []int{1, 2, 3, 4}; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// BUS-03
func TestOutboxHandOverNeverDeliversItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o owner
		var got []int
		proceed := make(chan struct{})
		o.receive = func(e int) { <-proceed; got = append(got, e) }
		for e := 1; e <= 3; e++ {
			o.mu.Lock()
			o.box.Put(e, 0)
			o.box.HandOver(&o.mu, o.receive) // would hang if it delivered
		}
		o.mu.Lock()
		o.box.HandOver(&o.mu, o.receive) // nothing new
		close(proceed)
		synctest.Wait()
		if want := []int{1, 2, 3}; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// BUS-03 PITFALL-6
func TestOutboxKeepsOrderAndWorkBoundedUnderConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers, each = 64, 50
		var o owner
		next := 0
		var got []int // appended to by one receiver at a time: the race detector proves that
		o.receive = func(e int) { got = append(got, e); runtime.Gosched() }
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for range each {
					o.mu.Lock()
					next++
					o.box.Put(next, 0)
					o.box.Deliver(&o.mu, o.receive)
				}
			})
		}
		all.Wait()
		synctest.Wait()
		if len(got) != callers*each {
			t.Fatalf("%d delivered, want %d", len(got), callers*each)
		}
		for i, e := range got {
			if e != i+1 {
				t.Fatalf("place %d has %d: out of order or twice", i, e)
			}
		}
	})
}

// BUS-03 BUS-04 BUS-05 PITFALL-5 PITFALL-6 PITFALL-8
func TestOutboxTransitionsChainForHandlersThatReadTheStatePanicAndLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		var toggle struct { // the smallest thing with states
			mu    sync.Mutex
			state events.State
			seq   uint64
			box   events.Outbox[events.BreakerStateChanged]
		}
		toggle.state = events.StateClosed
		publish := func(e events.BreakerStateChanged) { bus.BreakerStateChanged.Publish(context.Background(), e) }
		change := func() {
			toggle.mu.Lock()
			from := toggle.state
			toggle.state = map[events.State]events.State{events.StateClosed: events.StateOpen, events.StateOpen: events.StateClosed}[from]
			toggle.seq++
			toggle.box.Put(events.BreakerStateChanged{From: from, To: toggle.state, Seq: toggle.seq}, 0)
			toggle.box.Deliver(&toggle.mu, publish)
		}
		var got []events.BreakerStateChanged
		bus.BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) {
			toggle.mu.Lock() // reads the state, as a user would: no deadlock, and the event has its own
			_ = toggle.state
			toggle.mu.Unlock()
			switch {
			case e.Seq%7 == 0:
				panic("handler")
			case e.Seq%11 == 0:
				runtime.Goexit()
			case e.Seq%13 == 0:
				change()
			}
		})
		bus.BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) { got = append(got, e) })
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				for range 20 {
					change() // ends this goroutine now and then
				}
			})
		}
		all.Wait()
		synctest.Wait()
		for i, e := range got {
			if e.Seq != uint64(i+1) || i > 0 && e.From != got[i-1].To {
				t.Fatalf("event %d is %v -> %v with number %d after %v", i, e.From, e.To, e.Seq, got[max(i-1, 0)].To)
			}
		}
		if uint64(len(got)) != toggle.seq || len(got) < 64 {
			t.Fatalf("%d of %d transitions heard", len(got), toggle.seq)
		}
	})
}
