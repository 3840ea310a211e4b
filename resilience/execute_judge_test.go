package resilience_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-21: only the context given to Do tells of the caller.
func TestTheOperationsOwnDeadlineIsAnOrdinaryFailure(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind resilience.Kind
	}{
		{context.DeadlineExceeded, resilience.KindUnavailable},
		{context.Canceled, resilience.KindUnhandled},
		{os.ErrDeadlineExceeded, resilience.KindUnavailable},
	} {
		bus := events.NewBus()
		tape := record(bus)
		db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Bus: bus})
		runs := 0
		p := ints(bus, resilience.Retry{Backoff: resilience.NoDelay}, db)
		err := p.Run(t.Context(), func(context.Context) error { runs++; return c.err })
		if err != c.err || runs != 3 || resilience.KindOf(err) != c.kind {
			t.Errorf("%v: got %v of kind %v after %d runs; want it itself, %v, after 3", c.err, err, resilience.KindOf(err), runs, c.kind)
		}
		if n := db.Snapshot().Failures; n != 3 {
			t.Errorf("%v: the breaker counted %d failures", c.err, n)
		}
		for _, e := range heard[events.AttemptFinished](tape) {
			if e.Outcome != events.OutcomeFailure {
				t.Errorf("%v: attempt %+v", c.err, e)
			}
		}
		if e := heard[events.ExecutionFinished](tape)[0]; e.Outcome != events.OutcomeFailure || e.Reason != events.ReasonExhausted {
			t.Errorf("%v: finished %+v", c.err, e)
		}
	}
}

// PIPE-21: the end of a context that somebody inside derived is no end of the caller's.
func TestADeadlineDerivedInsideIsNotTheCallers(t *testing.T) {
	inner := ints(events.Off(), resilience.Retry{Backoff: resilience.Constant(time.Minute), IgnoreDeadline: true})
	nested := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return inner.Run(ctx, fail)
	}
	hasty := resilience.Around("hasty", func(ctx context.Context, next func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return next(ctx)
	})
	slow := resilience.Retry{MaxAttempts: 2, Backoff: resilience.Constant(time.Minute), IgnoreDeadline: true}
	for what, c := range map[string]struct {
		layers []resilience.Layer
		op     func(context.Context) error
	}{
		"the operation's, around a pipeline": {[]resilience.Layer{quietBreaker("db")}, nested},
		"a wrapped one":                      {nil, func(ctx context.Context) error { return &wrapping{nested(ctx)} }},
		"a layer's, around a retry":          {[]resilience.Layer{hasty, slow}, fail},
	} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			tape := record(bus)
			err := ints(bus, c.layers...).Run(t.Context(), c.op)
			var marked *resilience.CanceledError
			if errors.As(err, &marked) || resilience.KindOf(err) != resilience.KindUnavailable {
				t.Errorf("%s: got %#v of kind %v", what, err, resilience.KindOf(err))
			}
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errBoom) {
				t.Errorf("%s: not all is found in %v", what, err)
			}
			if e := heard[events.ExecutionFinished](tape)[0]; e.Outcome != events.OutcomeFailure || events.ErrorType(e.Err) != "timeout" {
				t.Errorf("%s: finished %+v, of type %s", what, e, events.ErrorType(e.Err))
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		db := quietBreaker("db")
		runs := 0
		err := ints(events.Off(), resilience.Retry{Backoff: resilience.NoDelay}, db).Run(t.Context(), func(ctx context.Context) error {
			if runs++; runs < 3 {
				return nested(ctx)
			}
			return nil
		})
		if err != nil || runs != 3 {
			t.Errorf("%d runs, %v; want what timed out inside to be retried", runs, err)
		}
	})
}

// PITFALLS 21
func TestAnAttemptsLimitIsRetriedAndTheCallersIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := ints(events.NewBus(), resilience.Retry{Backoff: resilience.NoDelay}, resilience.Timeout{After: time.Second})
		runs := 0
		hang := func(ctx context.Context) error {
			runs++
			<-ctx.Done()
			return ctx.Err()
		}
		live := p.Run(t.Context(), hang)
		if runs != 3 || !errors.Is(live, resilience.ErrTimeout) || resilience.KindOf(live) != resilience.KindUnavailable {
			t.Errorf("a live caller: %d runs, %v", runs, live)
		}
		runs = 0
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		gone := p.Run(ctx, hang)
		if runs != 2 || resilience.KindOf(gone) != resilience.KindCanceled {
			t.Errorf("a caller with a deadline: %d runs, %v", runs, gone)
		}
	})
}

// PITFALLS 26: a cancelled probe frees its slot and counts neither way.
func TestACancelledProbeLeavesTheBreakerAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Cooldown: time.Second, Bus: events.Off()})
		p := ints(events.Off(), db)
		p.Run(t.Context(), fail)
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		p.Run(ctx, func(context.Context) error { cancel(); return errBoom })
		if db.State() != events.StateHalfOpen {
			t.Errorf("after a cancelled probe: %v", db.State())
		}
		if err := p.Run(t.Context(), succeed); err != nil || db.State() != events.StateClosed {
			t.Errorf("the next probe: %v, %v", err, db.State())
		}
	})
}
