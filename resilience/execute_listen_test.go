package resilience_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// BUS-02: a topic that nobody hears costs one atomic load, and no event is built.
func TestWhoHearsOnlyOfBreakersDoesNotMakeCallsTell(t *testing.T) {
	bus := events.NewBus()
	changes := 0
	bus.BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) {
		changes++
		if e.Execution != 0 {
			t.Errorf("a record was kept of a call: %+v", e.Meta)
		}
	})
	if bus.CallsHeard() {
		t.Error("calls are heard")
	}
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Bus: bus})
	ints(bus, resilience.Retry{Backoff: resilience.NoDelay}, db).Run(t.Context(), fail)
	if changes != 1 {
		t.Errorf("heard of %d changes", changes)
	}
	stop := bus.RetryStopped.Subscribe(func(context.Context, events.RetryStopped) {})
	if !bus.CallsHeard() {
		t.Error("a retry's end is heard, and calls are not")
	}
	stop()
	if bus.CallsHeard() {
		t.Error("calls are heard after the last has left")
	}
}

// BUS-02: who hears one topic gets what it carries, whole; nothing else is published.
func TestOneTopicAloneTellsWholeEvents(t *testing.T) {
	bus := events.NewBus()
	var stopped []events.RetryStopped
	bus.RetryStopped.Subscribe(func(_ context.Context, e events.RetryStopped) { stopped = append(stopped, e) })
	ints(bus, resilience.Retry{Backoff: resilience.NoDelay}).DoKey(t.Context(), "k", returns(0, errBoom))
	if len(stopped) != 1 || stopped[0].Key != "k" || stopped[0].Execution == 0 || stopped[0].Attempt != 3 || stopped[0].Source.Layer() != "retry" || stopped[0].Source.Pipeline() != "ints" {
		t.Errorf("heard %+v", stopped)
	}
}

// PITFALLS 22, BUS-07: what the caller's context carries is seen in every attempt and every event.
func TestValuesOfTheCallersContextAreSeenEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		bus := events.NewBus()
		blind := map[string]int{}
		heardOf := map[string]int{}
		look := func(what string, ctx context.Context) {
			heardOf[what]++
			if ctx.Value(key{}) != "caller" {
				blind[what]++
			}
		}
		db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 2, Bus: bus})
		p := ints(bus, resilience.Timeout{After: time.Minute}, resilience.Retry{MaxAttempts: 4, Backoff: resilience.NoDelay,
			OnRetry: func(ctx context.Context, _ resilience.FailedAttempt) bool { look("OnRetry", ctx); return true }},
			db, resilience.Timeout{After: time.Second},
			resilience.Around("around", func(ctx context.Context, next func(context.Context) error) error {
				look("around", ctx)
				return next(ctx)
			}))
		bus.Subscribe(func(ctx context.Context, e events.Event) {
			if e.EventName() != "source.added" {
				look(e.EventName(), ctx)
			}
		})
		p.Run(context.WithValue(t.Context(), key{}, "caller"), func(ctx context.Context) error {
			look("operation", ctx)
			<-ctx.Done()
			return ctx.Err()
		})
		if len(blind) != 0 {
			t.Errorf("not seen in %v", blind)
		}
		for _, what := range []string{"operation", "around", "OnRetry", "attempt.started", "attempt.finished", "retry.scheduled", "retry.stopped",
			"timeout.fired", "circuit_breaker.state_changed", "call.rejected", "execution.started", "execution.finished"} {
			if heardOf[what] == 0 {
				t.Errorf("%s never came", what)
			}
		}
	})
}

// PITFALLS 4 and 5: a handler that panics, or asks the breaker and calls through it, changes nothing of what the caller
// gets.
func TestHandlersChangeNothingOfWhatTheCallerGets(t *testing.T) {
	bus := events.NewBus()
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Bus: bus})
	p := ints(bus, resilience.Retry{Backoff: resilience.NoDelay}, db)
	var states []events.State
	bus.BreakerStateChanged.Subscribe(func(context.Context, events.BreakerStateChanged) { panic("handler") })
	bus.BreakerStateChanged.Subscribe(func(ctx context.Context, e events.BreakerStateChanged) {
		states = append(states, e.To, db.State(), db.Snapshot().State)
		if err := p.Run(events.Nest(ctx), succeed); resilience.KindOf(err) != resilience.KindUnavailable {
			t.Errorf("a call from inside the handler: %v", err)
		}
	})
	bus.Subscribe(func(context.Context, events.Event) { panic("every handler") })
	err := p.Run(t.Context(), fail)
	if resilience.KindOf(err) != resilience.KindUnavailable || len(states) != 3 || slices.Contains(states, events.StateClosed) || bus.HandlerPanics() == 0 {
		t.Errorf("%v; states %v; %d panics", err, states, bus.HandlerPanics())
	}
}

// BUS-04, BUS-08: who subscribes or leaves in the middle of a call sees whole intervals or none.
func TestWhoLeavesInTheMiddleOfACallStillSeesItsEnd(t *testing.T) {
	bus := events.NewBus()
	ended, attempts := 0, 0
	leave := bus.Execution.Observe(func(context.Context, events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
		return nil, func(e events.ExecutionFinished) { ended += e.Attempts }
	})
	p := ints(bus, resilience.Retry{Backoff: resilience.NoDelay})
	p.Run(t.Context(), func(context.Context) error {
		leave()
		bus.Attempt.Observe(func(context.Context, events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
			attempts++
			return nil, nil
		})
		return errBoom
	})
	if ended != 3 || attempts != 1+2 {
		t.Errorf("the end told of %d attempts; who came after the first saw %d starts", ended, attempts)
	}
}
