package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// SFL-01, SFL-02, SFL-03: whatever callers and operations do, every caller gets an outcome that fits, and nothing is left
// behind.
func TestAThousandCallersOfAFewKeysLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		bus.FlightJoined.Subscribe(func(ctx context.Context, e events.FlightJoined) {
			if e.LeaderContext != nil {
				e.LeaderContext.Value(nameKey{})
			}
		})
		flights, room, gate := joined(), roomFor(1000), &counting{}
		p := ints(bus, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay}, flights, gate, room, resilience.Timeout{After: time.Second})
		var runs atomic.Int64
		op := func(key int) resilience.Operation[int] {
			return func(ctx context.Context) (int, error) {
				runs.Add(1)
				select {
				case <-time.After(time.Duration(rand.IntN(3)) * time.Millisecond):
				case <-ctx.Done():
					time.Sleep(time.Millisecond)
					return 0, ctx.Err()
				}
				switch rand.IntN(8) {
				case 0:
					panic("op")
				case 1:
					runtime.Goexit()
				case 2, 3:
					return 0, errBoom
				}
				return key, nil
			}
		}
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				defer func() {
					if v := recover(); v != nil {
						if _, ok := v.(*resilience.PanicError); !ok {
							t.Errorf("panicked with %v", v)
						}
					}
				}()
				time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(4))*time.Millisecond+1)
				defer cancel()
				if rand.IntN(4) == 0 {
					ctx = context.Background()
				}
				key := rand.IntN(4)
				v, err := p.DoKey(ctx, fmt.Sprint(key), op(key))
				if err == nil && v != key || err != nil && !errors.Is(err, errBoom) && !errors.Is(err, resilience.ErrGoexit) && resilience.KindOf(err) != resilience.KindCanceled {
					t.Errorf("key %d: %d, %v", key, v, err)
				}
			})
		}
		all.Wait()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if flights.InFlight() != 0 || room.Snapshot().Usage != 0 || gate.outstanding != 0 || runs.Load() > 500 {
			t.Errorf("%v, %v, %d admitted, %d runs", flights, room, gate.outstanding, runs.Load())
		}
	})
}

// PIPE-17, PIPE-20
func TestCloseWaitsForTheFlightThatItsCallersHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := ints(events.Off(), joined())
		ctx, cancel := context.WithCancel(t.Context())
		answers := burst(p, ctx, "a", 2, (&slow{}).run)
		cancel()
		synctest.Wait()
		began := time.Now()
		impatient, stop := context.WithTimeout(t.Context(), time.Second/2)
		defer stop()
		if err := p.Close(impatient); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second/2 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := p.Close(t.Context()); err != nil || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if _, err := p.DoKey(t.Context(), "a", one); err != resilience.ErrClosed || !answers[0].returned {
			t.Error(err)
		}
	})
}

// PIPE-17: a call that runs ends with its callers, also when they share a flight.
func TestCloseLetsAFlightLand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			p := ints(events.Off(), joined())
			answers := burst(p, ctx, "a", 2, (&slow{value: 3}).run)
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			later(time.Minute)
			for _, a := range answers {
				if a.v != 3 || a.err != nil {
					t.Errorf("%s: %+v", what, a)
				}
			}
		}
	})
}

// PIPE-26
func TestASingleflightServesSeveralBubbles(t *testing.T) {
	flights := joined()
	p := ints(events.Off(), flights)
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			for what, ctx := range callers(t) {
				answers := burst(p, ctx, "a", 3, (&slow{value: 3}).run)
				later(time.Minute)
				for _, a := range answers {
					if a.v != 3 || a.err != nil {
						t.Errorf("%s: %+v", what, a)
					}
				}
			}
		})
		if flights.InFlight() != 0 {
			t.Error(flights)
		}
	}
}

// A call made inside a flight would wait for itself.
func TestACallInsideItsOwnFlightRunsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			bus := events.NewBus()
			tape := record(bus)
			flights := joined()
			p := ints(bus, flights)
			depth := 0
			var op resilience.Operation[int]
			op = func(ctx context.Context) (int, error) {
				if depth++; depth == 3 {
					return 3, nil
				}
				child, cancel := context.WithCancel(ctx)
				defer cancel()
				return p.DoKey(child, "a", op)
			}
			v, err := p.DoKey(ctx, "a", op)
			if v != 3 || err != nil || flights.InFlight() != 0 || len(heard[events.FlightJoined](tape)) != 1 {
				t.Errorf("%s: %d, %v, %v, %+v", what, v, err, flights, heard[events.FlightJoined](tape))
			}
		}
	})
}

// RET-02: the attempts that a Retry outside starts are numbered through the flights.
func TestAttemptsInAFlightAreNumberedOverTheWholeCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			bus := events.NewBus()
			tape := record(bus)
			var numbers []int
			p := ints(bus, resilience.Retry{Backoff: resilience.NoDelay}, joined(), resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay})
			p.DoKey(ctx, "a", func(ctx context.Context) (int, error) {
				numbers = append(numbers, resilience.AttemptNumber(ctx))
				return 0, errBoom
			})
			if done := heard[events.ExecutionFinished](tape)[0]; fmt.Sprint(numbers) != "[1 2 3 4 5 6]" || done.Attempts != 6 {
				t.Errorf("%s: attempts %v, finished %+v", what, numbers, done)
			}
		}
	})
}

// A flight's context is one of the standard library's under every use.
func TestTheContextOfAFlightStartsNoGoroutineForItsChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			ints(events.Off(), joined()).DoKey(ctx, "a", func(ctx context.Context) (int, error) {
				before := runtime.NumGoroutine()
				var stops []context.CancelFunc
				for range 100 {
					child, stop := context.WithCancel(context.WithValue(ctx, nameKey{}, 1))
					context.AfterFunc(child, func() {})
					stops = append(stops, stop)
				}
				if n := runtime.NumGoroutine(); n > before+50 {
					t.Errorf("%s: %d goroutines, %d before", what, n, before)
				}
				for _, stop := range stops {
					stop()
				}
				return 0, nil
			})
		}
	})
}

func TestAllocationsOfACallThatFliesAlone(t *testing.T) {
	p := ints(events.NewBus(), joined())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for what, c := range map[string]struct {
		ctx  context.Context
		most float64
	}{"never ends": {context.Background(), 1}, "can end": {ctx, 7}} {
		if got := testing.AllocsPerRun(300, func() { p.DoKey(c.ctx, "user:17", one) }); got > c.most {
			t.Errorf("a context that %s: %v allocations, at most %v", what, got, c.most)
		}
	}
}
