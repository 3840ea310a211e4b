package resilience_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// BUS-09: what a handler of a breaker's change takes is no part of the attempt, which begins after it.
func TestAnAttemptBeginsAfterWhatIsToldBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		db := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Cooldown: time.Second, Bus: bus})
		p := ints(bus, resilience.Timeout{After: time.Minute}, db)
		_ = p.Run(t.Context(), func(context.Context) error { return errBoom })
		time.Sleep(time.Second)
		tape := record(bus)
		bus.BreakerStateChanged.Subscribe(func(context.Context, events.BreakerStateChanged) { time.Sleep(time.Second) })
		began := time.Now()
		_ = p.Run(t.Context(), func(context.Context) error { time.Sleep(time.Millisecond); return nil })
		started, ended := heard[events.AttemptStarted](tape)[0], heard[events.AttemptFinished](tape)[0]
		if started.At != began.Add(time.Second) || ended.Duration != time.Millisecond {
			t.Errorf("began at %v, took %v", started.At.Sub(began), ended.Duration)
		}
	})
}

// PIPE-26: the time of an event is that of its own clock, in a bubble and outside, whatever was told last; within a call
// it does not go back.
func TestTheTimeOfAnEventIsThatOfItsClock(t *testing.T) {
	bus := events.NewBus()
	p := ints(bus, resilience.Retry{Backoff: resilience.Constant(1)}, breaker(resilience.BreakerConfig{Bus: bus}))
	call := func(t *testing.T) {
		tape := record(bus)
		began := time.Now()
		_, _ = p.Do(t.Context(), func(context.Context) (int, error) { return 0, errBoom })
		last, ended := began, time.Now()
		tape.mu.Lock()
		defer tape.mu.Unlock()
		for _, e := range tape.all {
			var at time.Time
			switch e := e.(type) {
			case events.ExecutionStarted:
				at = e.At
			case events.AttemptStarted:
				at = e.At
			case events.AttemptFinished:
				at = e.At
			case events.RetryScheduled:
				at = e.At
			case events.RetryStopped:
				at = e.At
			case events.ExecutionFinished:
				at = e.At
			default:
				continue
			}
			if at.Before(last) || at.After(ended) || at.Round(0).Sub(began.Round(0)).Abs() > time.Minute {
				t.Errorf("%s at %v, after one at %v, in a call from %v to %v", e.EventName(), at, last, began, ended)
			}
			last = at
		}
	}
	for range 3 {
		call(t)
		synctest.Test(t, func(t *testing.T) {
			call(t)
			time.Sleep(24 * time.Hour)
			call(t)
		})
	}
}
