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

// HDG-02: gates inside learn that a loser was cancelled, whatever it returned and whatever its own Timeout would have
// said of it; none of it is a failure, to a breaker or to a budget.
func TestALosersEndIsNobodysFailure(t *testing.T) {
	for what, loser := range map[string]resilience.Operation[int]{
		"an error of its own":      deaf(150*ms, 0, errBoom),
		"the end of its context":   after(time.Hour, 0, nil),
		"an error after its limit": deaf(time.Minute, 0, errBoom),
	} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			tape := record(bus)
			budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "extra", Tokens: 10, Ratio: 0.001, Bus: bus})
			db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Bus: bus})
			gate := &counting{name: "gate"}
			p := ints(bus, resilience.Hedge{Delay: 100 * ms, Budget: budget}, db, gate, resilience.Timeout{After: time.Second})
			runs := scripted(loser, after(10*ms, 2, nil))
			v, err := p.Do(t.Context(), runs.do)
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if v != 2 || err != nil || db.State() != events.StateClosed || db.Snapshot().Failures != 0 {
				t.Errorf("%s: %d, %v, %v", what, v, err, db)
			}
			if got := gate.kinds(); len(got) != 2 || got[0] != resilience.Succeeded || got[1] != resilience.Canceled {
				t.Errorf("%s: the gate learned %v", what, got)
			}
			if n := len(heard[events.TimedOut](tape)) + len(heard[events.LateResult](tape)); n != 0 {
				t.Errorf("%s: %d timeouts and late results were told", what, n)
			}
			if got := budget.Available(); got != 5 {
				t.Errorf("%s: the budget allows %d more, want 5: nothing was counted against it", what, got)
			}
			outcomes := map[events.AttemptKind]events.Outcome{}
			for _, e := range heard[events.AttemptFinished](tape) {
				outcomes[e.Kind] = e.Outcome
			}
			if len(outcomes) != 2 || outcomes[events.AttemptInitial] != events.OutcomeCanceled || outcomes[events.AttemptHedge] != events.OutcomeSuccess {
				t.Errorf("%s: attempts ended %v", what, outcomes)
			}
		})
	}
}

// HDG-02, BRK-19: nor is it slow, however long it took: it was not given the time to answer.
func TestALoserIsNotSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		db := breaker(resilience.BreakerConfig{SlowCall: 50 * ms, SlowRatio: 1, MinCalls: 5, Bus: bus})
		p := ints(bus, resilience.Hedge{Delay: 100 * ms}, db)
		if v, err := p.Do(t.Context(), scripted(after(time.Hour, 0, nil), after(10*ms, 2, nil)).do); v != 2 || err != nil {
			t.Fatal(v, err)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if s := db.Snapshot(); s.Calls != 1 || s.SlowCalls != 0 {
			t.Errorf("the breaker counts %d calls, %d of them slow; want the winner alone", s.Calls, s.SlowCalls)
		}
	})
}

// HDG-02: a limit that passes while nobody has won is a timeout as any other.
func TestARunThatTimesOutBeforeTheOthersAnswerHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		db := breakerOn(bus, 0)
		p := ints(bus, resilience.Hedge{Delay: 100 * ms}, db, resilience.Timeout{After: 150 * ms})
		runs := scripted(after(time.Hour, 0, nil), after(70*ms, 2, nil))
		if v, err := p.Do(t.Context(), runs.do); v != 2 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
		if n := len(heard[events.TimedOut](tape)); n != 1 {
			t.Errorf("%d timeouts were told, want 1", n)
		}
		runs = scripted(after(time.Hour, 0, nil))
		if _, err := p.Do(t.Context(), runs.do); !errors.Is(err, resilience.ErrTimeout) {
			t.Errorf("got %v, want the timeouts", err)
		}
	})
}

// HDG-02, PITFALL-33: every value but the caller's is discarded once, that of the last loser included.
func TestEveryValueButTheCallersIsDiscardedOnce(t *testing.T) {
	for _, hold := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			all := []*closable{{}, {bad: true}, {}, {}}
			p := values(events.NewBus(), hold, resilience.Hedge{MaxAttempts: 4, Delay: 100 * ms})
			runs := scripted(deaf(time.Minute, all[0], nil), after(10*ms, all[1], nil), deaf(150*ms, all[2], nil), deaf(50*ms, all[3], nil))
			v, err := p.Do(t.Context(), runs.do)
			if v != all[2] && v != all[3] || err != nil {
				t.Fatalf("got %v, %v", v, err)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			for i, c := range all {
				want := 1
				if c == v {
					want = 0
				}
				if c.closed != want {
					t.Errorf("hold %v: value %d was closed %d times, want %d", hold, i, c.closed, want)
				}
			}
		})
	}
}

// HDG-02: with the operation of Run there is no value.
func TestWithoutAValueNothingIsDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		discarded := 0
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Layers: []resilience.Layer{resilience.Hedge{}}, Bus: events.NewBus(),
			Discard: func(int) error { discarded++; return nil }})
		err := p.Run(t.Context(), func(context.Context) error { time.Sleep(time.Minute); return nil })
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err != nil || discarded != 0 {
			t.Errorf("%v, %d values were discarded", err, discarded)
		}
	})
}

// HDG-05, PITFALL-31, RET-19
func TestABudgetThatDeniesAHedgeLeavesRunningAttemptsRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "extra", Allowance: 1, Window: time.Hour, Bus: bus})
		p := ints(bus, resilience.Hedge{MaxAttempts: 4, Delay: 100 * ms, Budget: budget})
		runs := scripted(after(time.Second, 1, nil), after(10*ms, 0, errBoom))
		v, err := p.Do(t.Context(), runs.do)
		if v != 1 || err != nil || len(runs.startedAt()) != 2 {
			t.Errorf("%d, %v after %d runs, want the first run's value after 2", v, err, len(runs.startedAt()))
		}
		denied := heard[events.HedgeDenied](tape)
		if len(denied) != 2 {
			t.Fatalf("denied %d times, want at 200 and at 300 ms", len(denied))
		}
		if e := denied[0]; e.Reason != events.ReasonBudget || e.Attempt != 3 || e.Execution == 0 || e.Source.Type() != events.TypeHedge {
			t.Errorf("denied: %+v", e)
		}
	})
}

// HDG-05, RET-20: when nothing runs any more, a denial ends the call with what there is.
func TestABudgetThatDeniesWhenAllHaveFailedEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "extra", Tokens: 2, Bus: events.Off()})
		p := ints(events.NewBus(), resilience.Hedge{MaxAttempts: 9, Budget: budget})
		runs := scripted(returns(0, errBoom))
		began := time.Now()
		if _, err := p.Do(t.Context(), runs.do); err != errBoom || len(runs.startedAt()) != 1 || time.Since(began) != 0 {
			t.Errorf("%v after %d runs and %v", err, len(runs.startedAt()), time.Since(began))
		}
	})
}

// RET-17: what a Hedge tells its budget.
func TestABudgetLearnsOfTheRunsThatDecide(t *testing.T) {
	for what, c := range map[string]struct {
		scripts []resilience.Operation[int]
		limit   time.Duration
		left    int // of 5; a success returns a thousandth, which is rounded up
	}{
		"two failures":                   {[]resilience.Operation[int]{returns(0, errBoom)}, -1, 3},
		"a failure, a success":           {[]resilience.Operation[int]{returns(0, errBoom), returns(1, error(nil))}, -1, 5},
		"a permanent one":                {[]resilience.Operation[int]{returns(0, resilience.Permanent(errBoom))}, -1, 5},
		"two that hang until a timeout":  {[]resilience.Operation[int]{after(time.Hour, 0, nil)}, 3 * time.Second, 3},
		"two that hang, the caller goes": {[]resilience.Operation[int]{after(time.Hour, 0, nil)}, 0, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "extra", Tokens: 10, Ratio: 0.001, Bus: events.Off()})
			ctx, cancel := context.WithCancel(t.Context())
			if c.limit == 0 {
				time.AfterFunc(3*time.Second, cancel)
				c.limit = -1
			}
			p := ints(events.NewBus(), resilience.Timeout{After: c.limit}, resilience.Hedge{Budget: budget})
			_, _ = p.Do(ctx, scripted(c.scripts...).do)
			if got := budget.Available(); got != c.left {
				t.Errorf("%s: %d are allowed, want %d", what, got, c.left)
			}
			cancel()
		})
	}
}

// kinds returns how the calls that the gate admitted ended.
func (c *counting) kinds() (all []resilience.OutcomeKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.outcomes {
		all = append(all, o.Kind)
	}
	return all
}

// out returns how many permits are out.
func (c *counting) out() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.outstanding
}
