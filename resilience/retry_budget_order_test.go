package resilience_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// RET-11, RET-14: with a budget the superseded value is discarded after the wait, once the next attempt is admitted.
func TestRetryWithABudgetKeepsItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := allowance(10)
		bus := events.NewBus()
		var order []string
		began := time.Now()
		at := func(what string) { order = append(order, what+" "+time.Since(began).String()) }
		bus.RetryScheduled.Subscribe(func(context.Context, events.RetryScheduled) { at("scheduled") })
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus,
			Classify: func(int, error) error { return errBoom },
			Discard: func(int) error {
				at("discard")
				if b.Available() != 9 {
					t.Errorf("%d left at the discard, want the token to be taken", b.Available())
				}
				return nil
			},
			Layers: []resilience.Layer{resilience.Retry{MaxAttempts: 2, Budget: b, Backoff: resilience.NoDelay,
				If:      func(error) bool { at("if"); return true },
				Delay:   func(resilience.FailedAttempt) time.Duration { at("delay"); return time.Second },
				OnRetry: func(context.Context, resilience.FailedAttempt) bool { at("onretry"); return true },
			}},
		})
		if v, err := p.Do(t.Context(), func(context.Context) (int, error) { at("run"); return len(order), nil }); v != 7 || err != nil {
			t.Errorf("%v, %v; want the second value", v, err)
		}
		want := []string{"run 0s", "if 0s", "delay 0s", "onretry 0s", "scheduled 0s", "discard 1s", "run 1s", "if 1s"}
		if !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
	})
}

// RET-11, RET-17, PITFALL-31: what others take during the wait is gone: the value comes back as it was, unclosed.
func TestADenialAfterTheWaitReturnsTheValueUnclosed(t *testing.T) {
	for name, make := range map[string]func(int) *resilience.RetryBudget{"feedback": tokens, "replenishing": allowance} {
		synctest.Test(t, func(t *testing.T) {
			b := make(100)
			bus := events.NewBus()
			tape := record(bus)
			time.AfterFunc(time.Second, func() {
				runsOf(t, 100, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay, Budget: b})
			})
			kept, runs := &reply{status: 503}, 0
			got, err := replies(bus, resilience.Retry{Backoff: resilience.Constant(time.Minute), Budget: b}).Do(t.Context(),
				func(context.Context) (*reply, error) { runs++; return kept, nil })
			if got != kept || err != nil || kept.closed != 0 || runs != 1 {
				t.Errorf("%s: %v, %v, closed %d times after %d runs; want the first value, unclosed", name, got, err, kept.closed, runs)
			}
			stopped := heard[events.RetryStopped](tape)
			if len(heard[events.RetryScheduled](tape)) != 1 || len(stopped) != 1 || stopped[0].Reason != events.ReasonBudget || stopped[0].Attempts != 1 {
				t.Errorf("%s: scheduled %v, stopped %+v", name, heard[events.RetryScheduled](tape), stopped)
			}
		})
	}
}

// RET-11: what is taken while OnRetry runs is gone, too, and the retry is not announced.
func TestTheBudgetIsCheckedAgainAfterOnRetry(t *testing.T) {
	b := allowance(1)
	bus := events.NewBus()
	tape := record(bus)
	op := failing{n: -1}
	err := ints(bus, resilience.Retry{Backoff: resilience.NoDelay, Budget: b, OnRetry: func(context.Context, resilience.FailedAttempt) bool {
		runsOf(t, 1, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay, Budget: b})
		return true
	}}).Run(t.Context(), op.run)
	if err != errBoom || op.runs != 1 || len(heard[events.RetryScheduled](tape)) != 0 || heard[events.RetryStopped](tape)[0].Reason != events.ReasonBudget {
		t.Errorf("%v after %d runs, scheduled %v", err, op.runs, heard[events.RetryScheduled](tape))
	}
}

// RET-03, PIPE-12: a denial hides no failure either: of a refusal that was to be waited out the caller learns what came before.
func TestADenialAfterARefusalKeepsTheFailureBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := allowance(1)
		breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Bus: events.NewBus()})
		op := failing{n: -1}
		err := ints(events.Off(), resilience.Retry{MaxAttempts: 9, RetryRejections: true, Budget: b}, breaker).Run(t.Context(), op.run)
		if op.runs != 1 || !errors.Is(err, errBoom) || !errors.Is(err, resilience.ErrBreakerOpen) || b.Available() != 0 {
			t.Errorf("%d runs, %v, %d left; want the refusal, the failure, and a token for the turn that was refused", op.runs, err, b.Available())
		}
	})
}

// PIPE-27, RET-14: a value that the wait keeps is held until the denial hands it over, or the next attempt supersedes it.
func TestAValueThatWaitsForTheBudgetIsHeld(t *testing.T) {
	for _, denied := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			room := bulkhead(2, 0, 0)
			b := allowance(1)
			var release func(error)
			p := resilience.MustPipeline(resilience.PipelineConfig[*reply]{Name: "p", Bus: events.Off(), Classify: judge,
				Hold:   func(r *reply, done resilience.Held) *reply { release = done.Release; return r },
				Layers: []resilience.Layer{resilience.Retry{MaxAttempts: 2, Backoff: resilience.Constant(20 * time.Second), Budget: b}, room},
			})
			if denied {
				time.AfterFunc(time.Second, func() { runsOf(t, 1, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay, Budget: b}) })
			}
			first := &reply{status: 503}
			all := []*reply{first, {status: 503}}
			time.AfterFunc(10*time.Second, func() {
				if used := room.Snapshot().Usage; used != 1 {
					t.Errorf("denied %v: %d permits during the wait, want the value's", denied, used)
				}
			})
			got, err := p.Do(t.Context(), func(context.Context) (*reply, error) {
				r := all[0]
				all = all[1:]
				return r, nil
			})
			if err != nil || (got == first) != denied || (first.closed == 0) != denied || room.Snapshot().Usage != 1 {
				t.Errorf("denied %v: %v, the first closed %d times, %d permits; want one, of what is handed over", denied, err, first.closed, room.Snapshot().Usage)
			}
			release(nil)
			if used := room.Snapshot().Usage; used != 0 {
				t.Errorf("denied %v: %d permits after the release", denied, used)
			}
		})
	}
}
