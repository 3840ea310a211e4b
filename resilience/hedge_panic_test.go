package resilience_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

func explode(context.Context) (int, error) { panic(errBoom) }

func goexit(context.Context) (int, error) {
	runtime.Goexit()
	return 0, nil
}

// caughtFrom returns what f panics with.
func caughtFrom(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// HDG-08, PIPE-13
func TestThePanicOfARunThatDecidesReachesTheCallerWithItsStack(t *testing.T) {
	for what, layers := range map[string][]resilience.Layer{
		"alone":             {resilience.Hedge{MaxAttempts: 3}},
		"in a Retry":        {resilience.Retry{Backoff: resilience.NoDelay}, resilience.Hedge{MaxAttempts: 3}},
		"in another":        {resilience.Hedge{MaxAttempts: 3}, resilience.Hedge{MaxAttempts: 3}},
		"in an Abandon":     {resilience.Timeout{Abandon: true}, resilience.Hedge{MaxAttempts: 3}},
		"around an Abandon": {resilience.Hedge{MaxAttempts: 3}, resilience.Timeout{Abandon: true}},
		"an Abandon alone":  {resilience.Timeout{Abandon: true}},
	} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			tape := record(bus)
			outside, inside := &counting{name: "outside"}, &counting{name: "inside"}
			layers = append(append([]resilience.Layer{outside}, layers...), inside)
			p := ints(bus, layers...)
			runs := scripted(explode)
			e, ok := caughtFrom(func() { _, _ = p.Do(t.Context(), runs.do) }).(*resilience.PanicError)
			if !ok || e.Value != errBoom || !bytes.Contains(e.Stack, []byte("explode")) || len(runs.startedAt()) != 1 {
				t.Errorf("%s: got %+v after %d runs", what, e, len(runs.startedAt()))
			}
			for _, gate := range []*counting{outside, inside} {
				if got := gate.kinds(); gate.out() != 0 || len(got) != 1 || got[0] != resilience.NotReturned {
					t.Errorf("%s: the gate %s has %d permits out and learned %v", what, gate.name, gate.out(), got)
				}
			}
			if n := len(heard[events.CallbackPanicked](tape)); n != 0 || p.Goroutines() > 1 {
				t.Errorf("%s: published %d times, too; %d goroutines", what, n, p.Goroutines())
			}
			if v, err := p.Do(t.Context(), one); v != 1 || err != nil {
				t.Errorf("%s: the next call: %d, %v", what, v, err)
			}
		})
	}
}

// HDG-08, RET-04: recovered innermost, it is an error that decides as well, and is never retried.
func TestARecoveredPanicOfARunDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", RecoverPanics: true, Bus: events.NewBus(),
			Layers: []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay}, resilience.Hedge{MaxAttempts: 3, Delay: 100 * ms}}})
		runs := scripted(after(time.Hour, 1, nil), explode)
		began := time.Now()
		_, err := p.Do(t.Context(), runs.do)
		var e *resilience.PanicError
		if took := time.Since(began); took != 100*ms || !errors.As(err, &e) || e.Value != errBoom || len(runs.startedAt()) != 2 {
			t.Errorf("%v after %v and %d runs", err, took, len(runs.startedAt()))
		}
	})
}

// HDG-08: a loser's panic is published, and nobody else hears of it.
func TestALosersPanicIsPublished(t *testing.T) {
	for _, recovers := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			tape := record(bus)
			p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", RecoverPanics: recovers, Bus: bus,
				Layers: []resilience.Layer{resilience.Hedge{Delay: 100 * ms}}})
			runs := scripted(func(context.Context) (int, error) { time.Sleep(time.Second); panic("late") }, after(0, 2, nil))
			v, err := p.Do(t.Context(), runs.do)
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			told := heard[events.CallbackPanicked](tape)
			if v != 2 || err != nil || len(told) != 1 {
				t.Fatalf("recovers %v: %d, %v; published %v", recovers, v, err, told)
			}
			settled := heard[events.ExecutionFinished](tape)[0]
			if e := told[0]; e.Value != "late" || e.Callback != "operation" || e.Attempt != 1 || e.Execution != settled.Execution || e.Source.Type() != events.TypeHedge {
				t.Errorf("recovers %v: published %+v", recovers, e)
			}
		})
	}
}

// PIPE-13: on another goroutine, Goexit is an error, which nobody repeats.
func TestGoexitOfARunIsAnError(t *testing.T) {
	for what, layers := range map[string][]resilience.Layer{
		"a Hedge":    {resilience.Hedge{MaxAttempts: 3}},
		"an Abandon": {resilience.Timeout{Abandon: true}},
	} {
		synctest.Test(t, func(t *testing.T) {
			outside, inside := &counting{name: "outside"}, &counting{name: "inside"}
			p := ints(events.NewBus(), append(append([]resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay}, outside}, layers...), inside)...)
			runs := scripted(goexit)
			_, err := p.Do(t.Context(), runs.do)
			if err != resilience.ErrGoexit || len(runs.startedAt()) != 1 {
				t.Errorf("%s: %v after %d runs", what, err, len(runs.startedAt()))
			}
			for _, gate := range []*counting{outside, inside} {
				if got := gate.kinds(); gate.out() != 0 || len(got) != 1 || got[0] != resilience.NotReturned {
					t.Errorf("%s: the gate %s has %d permits out and learned %v", what, gate.name, gate.out(), got)
				}
			}
		})
	}
}

// PIPE-13: whoever ends the caller's goroutine, in a handler or a predicate, leaves nothing behind.
func TestGoexitBesideTheRunsLeavesNothingBehind(t *testing.T) {
	for _, where := range []string{"HedgeStarted", "HedgeSettled", "HedgeDenied", "Hedge.If", "Discard"} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			leave := func(at string) {
				if at == where {
					runtime.Goexit()
				}
			}
			bus.HedgeStarted.Subscribe(func(context.Context, events.HedgeStarted) { leave("HedgeStarted") })
			bus.HedgeSettled.Subscribe(func(context.Context, events.HedgeSettled) { leave("HedgeSettled") })
			bus.HedgeDenied.Subscribe(func(context.Context, events.HedgeDenied) { leave("HedgeDenied") })
			all := []*closable{{bad: true}, {}, {}}
			gate := &counting{name: "gate"}
			budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "extra", Allowance: 2, Bus: bus})
			p := resilience.MustPipeline(resilience.PipelineConfig[*closable]{Name: "values", Bus: bus,
				Layers: []resilience.Layer{resilience.Hedge{MaxAttempts: 4, Delay: 100 * ms, Budget: budget,
					If: func(error) bool { leave("Hedge.If"); return true }}, gate},
				Hold: func(c *closable, release resilience.Held) *closable { c.release = release.Release; return c },
				Classify: func(c *closable, err error) error {
					if c != nil && c.bad {
						return errStatus
					}
					return err
				},
				Discard: func(c *closable) error { c.closed++; leave("Discard"); return nil }})
			runs := scripted(deaf(250*ms, all[0], nil), deaf(500*ms, all[1], nil), deaf(400*ms, all[2], nil))
			returned := false
			apart(func() { _, _ = p.Do(t.Context(), runs.do); returned = true })
			if returned {
				t.Errorf("%s: the call returned", where)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			for i, c := range all[:len(runs.startedAt())] {
				if c.closed != 1 {
					t.Errorf("%s: value %d was closed %d times", where, i, c.closed)
				}
			}
			if gate.out() != 0 {
				t.Errorf("%s: %d permits are out", where, gate.out())
			}
		})
	}
}
