package resilience_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// HDG-04, PIPE-15, PIPE-16
func TestTheCallersCancellationEndsAllRunsAtOnce(t *testing.T) {
	for _, hold := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			gone := errors.New("client gone")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(250*ms, func() { cancel(gone) })
			var causes []error
			waits := func(ctx context.Context) (*closable, error) {
				<-ctx.Done()
				causes = append(causes, context.Cause(ctx))
				return nil, ctx.Err()
			}
			chosen, late := &closable{bad: true}, &closable{}
			p := values(events.NewBus(), hold, resilience.Hedge{MaxAttempts: 4, Delay: 100 * ms})
			runs := scripted(waits, after(10*ms, chosen, nil), deaf(time.Hour, late, nil))
			began := time.Now()
			v, err := p.Do(ctx, runs.do)
			if took := time.Since(began); took != 250*ms || v != nil || len(runs.startedAt()) != 3 {
				t.Errorf("%v after %v and %d runs", v, took, len(runs.startedAt()))
			}
			for _, want := range []error{context.Canceled, gone, errStatus} {
				if !errors.Is(err, want) {
					t.Errorf("%v is not %v", err, want)
				}
			}
			if resilience.KindOf(err) != resilience.KindCanceled || chosen.closed != 1 {
				t.Errorf("%v: %v; the value that was chosen was closed %d times", resilience.KindOf(err), err, chosen.closed)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if len(causes) != 1 || causes[0] != gone || late.closed != 1 {
				t.Errorf("the run that waited learned %v, the late value was closed %d times", causes, late.closed)
			}
		})
	}
}

// HDG-04, PIPE-15: in the same instant, a success counts.
func TestASuccessThatCameBeforeTheCancellationIsKept(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			v, err := ints(events.NewBus(), resilience.Hedge{}).Do(ctx, func(context.Context) (int, error) {
				cancel()
				return 1, nil
			})
			if err == nil && v != 1 || err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%d, %v", v, err)
			}
		})
	}
	bus := events.NewBus()
	ctx, cancel := context.WithCancel(t.Context())
	bus.HedgeSettled.Subscribe(func(context.Context, events.HedgeSettled) { cancel() })
	if v, err := ints(bus, resilience.Hedge{}).Do(ctx, one); v != 1 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
}

// HDG-04: of a Timeout outside, the same is true; the gates inside count what it ended.
func TestATimeoutOutsideEndsAllRunsAtItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		gate := &counting{name: "gate"}
		p := ints(bus, resilience.Timeout{After: 250 * ms}, resilience.Hedge{MaxAttempts: 3, Delay: 100 * ms}, gate)
		runs := scripted(after(time.Hour, 0, nil), after(10*ms, 0, errFirst), deaf(time.Second, 0, errSecond))
		began := time.Now()
		_, err := p.Do(t.Context(), runs.do)
		if took := time.Since(began); took != 250*ms || !errors.Is(err, resilience.ErrTimeout) || !errors.Is(err, errFirst) {
			t.Errorf("%v after %v", err, took)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for _, kind := range gate.kinds() {
			if kind != resilience.Failed {
				t.Errorf("the gate learned %v, want failures", gate.kinds())
			}
		}
		if timeouts := heard[events.TimedOut](tape); len(timeouts) != 1 || len(gate.kinds()) != 3 {
			t.Errorf("%d timeouts were told, the gate learned %v", len(timeouts), gate.kinds())
		}
	})
}

// PIPE-14
func TestNoRunStartsForACallerWhoHasLeft(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	runs := scripted(one)
	p := ints(events.NewBus(), resilience.Hedge{})
	if _, err := p.Do(ctx, runs.do); !errors.Is(err, context.Canceled) || len(runs.startedAt()) != 0 || p.Goroutines() != 0 {
		t.Errorf("%v after %d runs", err, len(runs.startedAt()))
	}
}

// HDG-06, PIPE-17, PIPE-20
func TestTheCallDoesNotWaitForLosersThePipelinesCloseDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := ints(events.NewBus(), resilience.Hedge{Delay: 100 * ms})
		runs := scripted(deaf(10*time.Second, 1, nil), after(10*ms, 2, nil))
		began := time.Now()
		v, err := p.Do(t.Context(), runs.do)
		took := time.Since(began)
		synctest.Wait()
		if v != 2 || err != nil || took != 110*ms || p.Goroutines() != 1 {
			t.Errorf("%d, %v after %v, %d goroutines", v, err, took, p.Goroutines())
		}
		hurry, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Close(hurry); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close returned %v before the loser had ended", err)
		}
		if err := p.Close(t.Context()); err != nil || time.Since(began) != 10*time.Second || p.Goroutines() != 0 {
			t.Errorf("Close returned %v after %v, %d goroutines", err, time.Since(began), p.Goroutines())
		}
	})
}

// HDG-06
func TestWaitLosersWaitsUntilTheyAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := &closable{}
		p := values(events.NewBus(), false, resilience.Hedge{Delay: 100 * ms, WaitLosers: true})
		buffer, lost := 0, false // the caller's memory
		runs := scripted(func(ctx context.Context) (*closable, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			buffer++
			lost = true
			return late, nil
		}, after(10*ms, &closable{}, nil))
		began := time.Now()
		v, err := p.Do(t.Context(), runs.do)
		buffer++
		if took := time.Since(began); took != 1110*ms || v == nil || v == late || err != nil || !lost || buffer != 2 || late.closed != 1 || p.Goroutines() > 1 {
			t.Errorf("%v, %v after %v; lost: %v, late value closed %d times", v, err, took, lost, late.closed)
		}
	})
}

// HDG-06, HDG-04: whoever waits for losers waits for its runs when the caller leaves, too, and keeps a success of theirs.
func TestWaitLosersWaitsWhenTheCallerLeaves(t *testing.T) {
	for _, success := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 250*ms)
			defer cancel()
			p := ints(events.NewBus(), resilience.Hedge{MaxAttempts: 9, Delay: 100 * ms, WaitLosers: true})
			last := errSecond
			if success {
				last = nil
			}
			runs := scripted(deaf(time.Second, 0, errFirst), deaf(2*time.Second, 2, last), after(time.Hour, 3, nil))
			began := time.Now()
			v, err := p.Do(ctx, runs.do)
			if took := time.Since(began); took != 2100*ms || len(runs.startedAt()) != 3 || p.Goroutines() != 0 {
				t.Errorf("returned after %v and %d runs, %d goroutines", took, len(runs.startedAt()), p.Goroutines())
			}
			if success && (v != 2 || err != nil) || !success && (!errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errFirst) || !errors.Is(err, errSecond)) {
				t.Errorf("got %d, %v", v, err)
			}
		})
	}
}

// HDG-04, PIPE-12: that a run's context ended tells nothing beside what had failed before.
func TestTheEndOfTheContextIsNoFailureBesideOthers(t *testing.T) {
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 250*ms)
			defer cancel()
			runs := scripted(after(time.Hour, 0, nil), after(10*ms, 0, errFirst), after(time.Hour, 0, nil))
			_, err := ints(events.NewBus(), resilience.Hedge{MaxAttempts: 3, Delay: 100 * ms, WaitLosers: waits}).Do(ctx, runs.do)
			if want := "resilience: canceled by the caller: context deadline exceeded (last failure: first)"; err.Error() != want {
				t.Errorf("waits %v: %q, want %q", waits, err, want)
			}
		})
	}
}

// PIPE-26: outside of a bubble and in two.
func TestAHedgeMadeOutsideABubbleWorksInBubbles(t *testing.T) {
	learn := resilience.MustLearnedDelay(resilience.LearnedDelayConfig{MinSamples: 1, Max: 50 * ms})
	p := ints(events.NewBus(), resilience.Hedge{Delay: 50 * ms, Learn: learn}, resilience.Timeout{After: time.Hour, Abandon: true})
	if v, err := p.Do(t.Context(), one); v != 1 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			for range 3 {
				runs := scripted(after(time.Minute, 1, nil), after(10*ms, 2, nil))
				if v, err := p.Do(t.Context(), runs.do); v != 2 || err != nil {
					t.Errorf("%d, %v", v, err)
				}
			}
		})
	}
}

// PIPE-17: a call that still runs may start more after Close has found nothing to wait for; closing again waits for that.
func TestClosingAgainWaitsForWhatARunningCallHasStartedSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := ints(events.NewBus(), resilience.Retry{Backoff: resilience.Constant(time.Second)}, resilience.Hedge{Delay: 10 * ms})
		runs := scripted(after(100*ms, 0, errBoom), after(100*ms, 0, errBoom), deaf(time.Hour, 0, nil), after(0, 3, nil))
		ended := make(chan int)
		go func() {
			v, err := p.Do(t.Context(), runs.do)
			if err != nil {
				t.Error(err)
			}
			ended <- v
		}()
		time.Sleep(500 * ms) // both runs have failed, and the retry waits
		if err := p.Close(t.Context()); err != nil || p.Goroutines() != 0 {
			t.Errorf("closed while the call waits: %v, %d goroutines", err, p.Goroutines())
		}
		if v := <-ended; v != 3 || p.Goroutines() != 1 {
			t.Errorf("%d, with %d goroutines; want 3 and the run that lost", v, p.Goroutines())
		}
		began := time.Now()
		if err := p.Close(t.Context()); err != nil || p.Goroutines() != 0 || time.Since(began) < 59*time.Minute {
			t.Errorf("closed again: %v after %v, %d goroutines", err, time.Since(began), p.Goroutines())
		}
	})
}
