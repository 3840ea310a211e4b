package resilience_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// BRK-08
func TestCallThatOutlivesItsStateDoesNotCount(t *testing.T) {
	for name, end := range map[string]struct {
		err  error
		want events.Outcome
	}{
		"success": {nil, events.OutcomeSuccess}, "failure": {errBoom, events.OutcomeFailure},
	} {
		for _, in := range []events.State{events.StateOpen, events.StateHalfOpen, events.StateClosed, events.StateForcedOpen} {
			synctest.Test(t, func(t *testing.T) {
				bus := events.NewBus()
				tape := record(bus)
				b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Bus: bus})
				old, err := b.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				calls(t, b, "f")
				switch in {
				case events.StateHalfOpen:
					time.Sleep(30 * time.Second)
					probe, err := b.Acquire(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					defer probe.Release(nil)
				case events.StateClosed:
					b.Reset()
				case events.StateForcedOpen:
					b.ForceOpen()
				}
				before := len(heard[events.BreakerStateChanged](tape))
				old.Release(end.err)
				state(t, b, in)
				if after := len(heard[events.BreakerStateChanged](tape)); after != before {
					t.Errorf("%s in %v: the late call changed the state", name, in)
				}
				late := heard[events.LateResult](tape)
				if len(late) != 1 || late[0].Outcome != end.want || late[0].Err != end.err || late[0].Source.Layer() != "db" {
					t.Errorf("%s in %v: late results %+v", name, in, late)
				}
			})
		}
	}
}

// BRK-08: a late success does not stand for the probe, nor free its slot.
func TestLateCallLeavesTheProbesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1})
		old, _ := b.Acquire(t.Context())
		calls(t, b, "f")
		time.Sleep(30 * time.Second)
		probe, _ := b.Acquire(t.Context())
		old.Release(nil)
		if _, err := b.Acquire(t.Context()); err == nil {
			t.Error("the late call freed the probe's slot")
		}
		probe.Release(nil)
		state(t, b, events.StateClosed)
	})
}

// BRK-08, BRK-15: the call is told that it came late as part of its own story.
func TestLateResultBelongsToItsCall(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Bus: bus})
	_, err := ints(bus, b).DoKey(t.Context(), "user:1", func(context.Context) (int, error) {
		b.ForceOpen()
		return 7, nil
	})
	late, finished := heard[events.LateResult](tape), heard[events.ExecutionFinished](tape)[0]
	if err != nil || len(late) != 1 || late[0].Execution != finished.Execution || late[0].Key != "user:1" || finished.Outcome != events.OutcomeSuccess {
		t.Errorf("%v, late %+v, finished %+v", err, late, finished)
	}
}
