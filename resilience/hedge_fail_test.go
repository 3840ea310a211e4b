package resilience_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

var errFirst, errSecond = errors.New("first"), errors.New("second")

// HDG-03
func TestWhenAllFailTheCallerGetsTheLastFailureAndTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := scripted(after(150*ms, 0, errFirst), after(10*ms, 0, errSecond), after(time.Second, 0, errBoom))
		_, err := ints(events.NewBus(), resilience.Hedge{MaxAttempts: 3, Delay: 100 * ms}).Do(t.Context(), runs.do)
		for _, want := range []error{errFirst, errSecond, errBoom} {
			if !errors.Is(err, want) {
				t.Errorf("%v is not %v", err, want)
			}
		}
		if got, want := fmt.Sprint(err), "boom (other attempts: first; second)"; got != want {
			t.Errorf("the text is %q, want %q", got, want)
		}
	})
}

// HDG-03, PIPE-12: a failure that is everybody's is itself.
func TestOneFailureOfAllRunsKeepsItsIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := scripted(returns(0, errBoom))
		if _, err := ints(events.NewBus(), resilience.Hedge{MaxAttempts: 3}).Do(t.Context(), runs.do); err != errBoom || len(runs.startedAt()) != 3 {
			t.Errorf("%v after %d runs, want %v itself after 3", err, len(runs.startedAt()), errBoom)
		}
	})
}

// HDG-03, PIPE-28: layers see the failures as Classify does, the caller gets those of the operation.
func TestJoinedFailuresKeepWhatClassifySaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		judged, asked := errors.New("judged"), error(nil)
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.NewBus(),
			Layers: []resilience.Layer{
				resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay, If: func(err error) bool { asked = err; return false }},
				resilience.Hedge{},
			},
			Classify: func(_ int, err error) error {
				if err == errFirst {
					return judged
				}
				return err
			}})
		runs := scripted(returns(0, errFirst), returns(0, errSecond))
		_, err := p.Do(t.Context(), runs.do)
		if !errors.Is(asked, judged) || errors.Is(asked, errFirst) || !errors.Is(asked, errSecond) {
			t.Errorf("the Retry saw %v", asked)
		}
		if errors.Is(err, judged) || !errors.Is(err, errFirst) || !errors.Is(err, errSecond) {
			t.Errorf("the caller got %v", err)
		}
	})
}

// HDG-08, PIPE-28, PITFALL-33: the last failing value is the caller's, those before are discarded, once each.
func TestIfTheLastFailureIsAValueTheCallerGetsIt(t *testing.T) {
	for _, hold := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			tape := record(bus)
			p := values(bus, hold, resilience.Hedge{MaxAttempts: 3, Delay: 100 * ms})
			first, second, third := &closable{bad: true}, &closable{bad: true}, &closable{bad: true}
			runs := scripted(after(150*ms, first, nil), after(10*ms, second, nil), after(50*ms, third, nil))
			v, err := p.Do(t.Context(), runs.do)
			if v != third || err != nil || first.closed != 1 || second.closed != 1 || third.closed != 0 {
				t.Errorf("hold %v: got %p, %v, closed %d, %d, %d", hold, v, err, first.closed, second.closed, third.closed)
			}
			if e := heard[events.ExecutionFinished](tape)[0]; e.Outcome != events.OutcomeFailure || e.Err != errStatus {
				t.Errorf("hold %v: finished: %+v", hold, e)
			}
		})
	}
}

// HDG-03: a failing value that was superseded is told by what Classify said of it.
func TestAnErrorAfterAFailingValueTellsBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := &closable{bad: true}
		runs := scripted(after(ms, bad, nil), after[*closable](ms, nil, errBoom))
		v, err := values(events.NewBus(), false, resilience.Hedge{}).Do(t.Context(), runs.do)
		if v != nil || !errors.Is(err, errBoom) || !errors.Is(err, errStatus) || bad.closed != 1 {
			t.Errorf("%v, %v, closed %d", v, err, bad.closed)
		}
	})
}

// RET-15, HDG-02: what cannot be mended ends the call, with nothing started after it and nothing waited for.
func TestAFailureThatNoRunCanMendEndsTheCall(t *testing.T) {
	permanent := resilience.Permanent(errSecond)
	declines := func(err error) bool { return !errors.Is(err, errSecond) }
	for what, c := range map[string]struct {
		hedge   resilience.Hedge
		retryIf func(error) bool
		err     error
	}{
		"Permanent":          {resilience.Hedge{}, nil, permanent},
		"If":                 {resilience.Hedge{If: declines}, nil, errSecond},
		"RetryIf":            {resilience.Hedge{}, declines, errSecond},
		"If, before RetryIf": {resilience.Hedge{If: declines}, func(error) bool { return true }, errSecond},
		"an If that panics":  {resilience.Hedge{If: func(error) bool { panic("no") }}, nil, errSecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			c.hedge.MaxAttempts, c.hedge.Delay = 5, 100*ms
			p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Layers: []resilience.Layer{c.hedge}, RetryIf: c.retryIf, Bus: events.NewBus()})
			alone := scripted(after(10*ms, 0, c.err))
			if _, err := p.Do(t.Context(), alone.do); err.Error() != "second" || !errors.Is(err, errSecond) || len(alone.startedAt()) != 1 {
				t.Errorf("%s: %v after %d runs, want 1", what, err, len(alone.startedAt()))
			}
			beside := scripted(after(time.Hour, 1, nil), after(10*ms, 0, c.err))
			began := time.Now()
			_, err := p.Do(t.Context(), beside.do)
			if took := time.Since(began); took != 110*ms || err.Error() != "second" || len(beside.startedAt()) != 2 {
				t.Errorf("%s: %v after %v and %d runs", what, err, took, len(beside.startedAt()))
			}
		})
	}
}

// HDG-03: a refused hedge is no failure of the operation, and leaves what runs running.
func TestARefusedHedgeLeavesTheOthersRunning(t *testing.T) {
	for _, first := range []error{nil, errFirst} {
		synctest.Test(t, func(t *testing.T) {
			room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, Bus: events.Off()})
			runs := scripted(after(time.Second, 1, first))
			_, err := ints(events.NewBus(), resilience.Hedge{MaxAttempts: 3, Delay: 100 * ms}, room).Do(t.Context(), runs.do)
			if n := len(runs.startedAt()); err != first || n != 1 {
				t.Errorf("%v after %d runs, want %v itself after 1: both hedges were due, and refused, beside it", err, n, first)
			}
		})
	}
}

// HDG-01, HDG-03: refusals start no hedge at once, and are the call's outcome if there is no failure.
func TestWhenAllAreRefusedTheCallIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		db := breakerOn(bus, 0)
		db.ForceOpen()
		_, err := ints(bus, resilience.Hedge{MaxAttempts: 3}, db).Do(t.Context(), one)
		if resilience.KindOf(err) != resilience.KindUnavailable || !errors.Is(err, resilience.ErrBreakerOpen) {
			t.Errorf("got %v", err)
		}
		if n := len(heard[events.CallRejected](tape)); n != 1 {
			t.Errorf("asked %d times, want once", n)
		}
		if e := heard[events.ExecutionFinished](tape)[0]; e.Outcome != events.OutcomeRejected || e.Reason != events.ReasonForcedOpen || e.Attempts != 0 {
			t.Errorf("finished: %+v", e)
		}
	})
}

// HDG-03: the dependency's failure is the outcome, not that the hedge after it was refused.
func TestARefusalAfterAFailureIsNotTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Bus: bus})
		runs := scripted(returns(0, errBoom))
		_, err := ints(bus, resilience.Hedge{MaxAttempts: 3}, db).Do(t.Context(), runs.do)
		if err != errBoom || len(runs.startedAt()) != 1 {
			t.Errorf("%v after %d runs, want %v itself after 1", err, len(runs.startedAt()), errBoom)
		}
	})
}

// HDG-03, HDG-08: and a failing value is handed on, although the hedge after it was refused.
func TestARefusalAfterAFailingValueLeavesTheValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Bus: bus})
		bad := &closable{bad: true}
		v, err := values(bus, false, resilience.Hedge{MaxAttempts: 3}, db).Do(t.Context(), returns(bad, error(nil)))
		if v != bad || err != nil || bad.closed != 0 {
			t.Errorf("%v, %v, closed %d times", v, err, bad.closed)
		}
	})
}

// closable is a value that counts how often it was closed.
type closable struct {
	bad     bool
	closed  int
	release func(error)
}

func (c *closable) Close() error { c.closed++; return nil }

// values is a pipeline of closables, of which the bad ones are failing values.
func values(bus *events.Bus, hold bool, layers ...resilience.Layer) *resilience.Pipeline[*closable] {
	cfg := resilience.PipelineConfig[*closable]{Name: "values", Layers: layers, Bus: bus,
		Classify: func(c *closable, err error) error {
			if c != nil && c.bad {
				return errStatus
			}
			return err
		}}
	if hold {
		cfg.Hold = func(c *closable, held resilience.Held) *closable { c.release = held.Release; return c }
	}
	return resilience.MustPipeline(cfg)
}
