package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// scriptOf is an operation whose runs are scripted, in the order in which they are started, and which notes when they were.
type scriptOf[T any] struct {
	mu      sync.Mutex
	began   time.Time
	starts  []time.Duration
	scripts []resilience.Operation[T]
}

func scripted[T any](scripts ...resilience.Operation[T]) *scriptOf[T] {
	return &scriptOf[T]{began: time.Now(), scripts: scripts}
}

func (r *scriptOf[T]) do(ctx context.Context) (T, error) {
	r.mu.Lock()
	n := min(len(r.starts), len(r.scripts)-1)
	r.starts = append(r.starts, time.Since(r.began))
	r.mu.Unlock()
	return r.scripts[n](ctx)
}

// startedAt returns when the runs were started.
func (r *scriptOf[T]) startedAt() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.starts)
}

// after returns v and err after a while, or with the end of its context.
func after[T any](d time.Duration, v T, err error) resilience.Operation[T] {
	return func(ctx context.Context) (T, error) {
		select {
		case <-time.After(d):
			return v, err
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	}
}

// deaf returns v and err after a while, whatever becomes of its context.
func deaf[T any](d time.Duration, v T, err error) resilience.Operation[T] {
	return func(context.Context) (T, error) {
		time.Sleep(d)
		return v, err
	}
}

const ms = time.Millisecond

// HDG-01
func TestHedgesStartOneDelayAfterAnother(t *testing.T) {
	for _, c := range []struct {
		hedge   resilience.Hedge
		scripts []resilience.Operation[int]
		starts  []time.Duration
		v       int
	}{
		{resilience.Hedge{}, []resilience.Operation[int]{after(time.Hour, 1, nil), after(10*ms, 2, nil)}, []time.Duration{0, time.Second}, 2},
		{resilience.Hedge{}, []resilience.Operation[int]{after(999*ms, 1, nil), after(0, 2, nil)}, []time.Duration{0}, 1},
		{resilience.Hedge{MaxAttempts: 4, Delay: 100 * ms}, []resilience.Operation[int]{after(950*ms, 1, nil), after(time.Hour, 2, nil)},
			[]time.Duration{0, 100 * ms, 200 * ms, 300 * ms}, 1},
		{resilience.Hedge{MaxAttempts: 1, Delay: ms}, []resilience.Operation[int]{after(time.Second, 1, nil)}, []time.Duration{0}, 1},
		{resilience.Hedge{MaxAttempts: 100, Delay: math.MaxInt64}, []resilience.Operation[int]{after(time.Second, 1, nil)}, []time.Duration{0}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			runs := scripted(c.scripts...)
			v, err := ints(events.NewBus(), c.hedge).Do(t.Context(), runs.do)
			if got := runs.startedAt(); v != c.v || err != nil || !slices.Equal(got, c.starts) {
				t.Errorf("%+v: %d, %v, runs started at %v; want %d and %v", c.hedge, v, err, got, c.v, c.starts)
			}
		})
	}
}

// HDG-01: the schedule is that of the first run, whatever was started at once in between.
func TestAHedgeStartsAtOnceWhenAllBeforeHaveFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := scripted(after(10*ms, 0, errBoom), after(40*ms, 0, errBoom), after(time.Hour, 3, nil), after(time.Hour, 4, nil), after(20*ms, 5, nil))
		v, err := ints(events.NewBus(), resilience.Hedge{MaxAttempts: 5, Delay: 100 * ms}).Do(t.Context(), runs.do)
		want := []time.Duration{0, 10 * ms, 50 * ms, 300 * ms, 400 * ms}
		if got := runs.startedAt(); v != 5 || err != nil || !slices.Equal(got, want) {
			t.Errorf("%d, %v, runs started at %v, want %v", v, err, got, want)
		}
	})
}

// HDG-01: while one runs, another's failure starts none before its time.
func TestAFailureBesideARunThatGoesOnStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := scripted(after(time.Second, 1, nil), after(10*ms, 0, errBoom))
		v, err := ints(events.NewBus(), resilience.Hedge{MaxAttempts: 3, Delay: 300 * ms}).Do(t.Context(), runs.do)
		want := []time.Duration{0, 300 * ms, 600 * ms}
		if got := runs.startedAt(); v != 1 || err != nil || !slices.Equal(got, want) {
			t.Errorf("%d, %v, runs started at %v, want %v", v, err, got, want)
		}
	})
}

// HDG-02, PITFALL-31: the quickest failure does not beat a later success.
func TestTheFirstSuccessWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		runs := scripted(func(ctx context.Context) (int, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return 0, ctx.Err()
		}, after(10*ms, 0, errBoom), after(20*ms, 3, nil))
		began := time.Now()
		v, err := ints(events.NewBus(), resilience.Hedge{MaxAttempts: 3, Delay: 100 * ms}).Do(t.Context(), runs.do)
		took := time.Since(began)
		synctest.Wait()
		if v != 3 || err != nil || took != 220*ms {
			t.Errorf("%d, %v after %v", v, err, took)
		}
		if cause == nil || errors.Is(cause, context.Canceled) {
			t.Errorf("the loser's context ended with the cause %v, want a sibling's answer", cause)
		}
	})
}

// HDG-01, PIPE-25: a pointer to a Hedge is the Hedge as it was.
func TestHedgeMayBeGivenByPointer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &resilience.Hedge{Name: "second", Delay: 10 * ms}
		p := ints(events.NewBus(), h)
		h.Delay = time.Hour
		runs := scripted(after(time.Minute, 1, nil), after(0, 2, nil))
		if v, err := p.Do(t.Context(), runs.do); v != 2 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
	})
	if err := buildLayer((*resilience.Hedge)(nil)); err == nil {
		t.Error("a nil *Hedge was accepted")
	}
}

// PIPE-18: with its effective settings.
func TestHedgeIsDescribed(t *testing.T) {
	budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "extra", Bus: events.Off()})
	learn := resilience.MustLearnedDelay(resilience.LearnedDelayConfig{Quantile: 0.9, Max: time.Second})
	p := ints(events.Off(), resilience.Hedge{}, resilience.Hedge{Name: "all", MaxAttempts: 3, Delay: ms, Learn: learn, Budget: budget, WaitLosers: true})
	layers := p.Describe().Layers
	for i := range layers {
		layers[i].SharedID = 0 // it differs from run to run
	}
	got := fmt.Sprint(layers)
	want := "[{0 hedge hedge  0 [{max_attempts 2} {delay 1s} {wait_losers false}]} " +
		"{1 all hedge extra 0 [{max_attempts 3} {delay 1ms} {learn quantile 0.9 of 1m0s, 1ms to 1s, from 20 answers on} {budget extra} {wait_losers true}]}]"
	if got != want {
		t.Errorf("described as\n%s, want\n%s", got, want)
	}
}
