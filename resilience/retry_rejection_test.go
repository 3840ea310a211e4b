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

// opened returns a breaker that one failure opens for a minute, opened.
func opened(t *testing.T) *resilience.Breaker {
	t.Helper()
	b := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Cooldown: time.Minute, Bus: events.NewBus()})
	_ = b.Run(t.Context(), fail)
	if b.State() != events.StateOpen {
		t.Fatal("one failure did not open the breaker")
	}
	return b
}

// RET-04
func TestRetryAroundAnOpenBreakerStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		began := time.Now()
		runs := failing{}
		err := ints(bus, resilience.Retry{Backoff: resilience.Constant(time.Second)}, opened(t)).Run(t.Context(), runs.run)
		if !errors.Is(err, resilience.ErrBreakerOpen) || runs.runs != 0 || time.Since(began) != 0 {
			t.Errorf("%v after %v and %d runs", err, time.Since(began), runs.runs)
		}
		if n := len(heard[events.CallRejected](tape)); n != 1 {
			t.Errorf("%d rejections, want 1", n)
		}
		stopped, finished := heard[events.RetryStopped](tape)[0], heard[events.ExecutionFinished](tape)[0]
		if stopped.Reason != events.ReasonNotRetryable || stopped.Attempts != 0 || finished.Attempts != 0 {
			t.Errorf("stopped %+v, finished %+v; the operation never ran", stopped, finished)
		}
		if finished.Outcome != events.OutcomeRejected || finished.Reason != events.ReasonOpen || finished.Layer.Layer() != "db" {
			t.Errorf("finished: %+v", finished)
		}
	})
}

// RET-04, RET-12: who retries rejections waits out the cooldown.
func TestRetryRejectionsWaitsOutTheCooldown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		breaker := opened(t)
		time.Sleep(20 * time.Second)
		began := time.Now()
		op := failing{}
		err := ints(bus, resilience.Retry{MaxAttempts: 2, MaxDelay: time.Hour, RetryRejections: true,
			If: func(error) bool { t.Error("If was asked about a refusal"); return false }}, breaker).Run(t.Context(), op.run)
		if took := time.Since(began); err != nil || op.runs != 1 || took != 40*time.Second {
			t.Errorf("%v, %d runs after %v; want a success after what was left of the cooldown, 40 s", err, op.runs, took)
		}
		if e := heard[events.RetryScheduled](tape)[0]; !e.HintedByPeer || e.Delay != 40*time.Second {
			t.Errorf("scheduled: %+v", e)
		}
	})
}

// RET-04: nobody knows when a breaker that was opened by hand closes, and a limiter's refusal asks for less load.
func TestOtherRejectionsAreNeverRetried(t *testing.T) {
	forced := resilience.MustBreaker(resilience.BreakerConfig{Name: "forced", Bus: events.NewBus()})
	forced.ForceOpen()
	full := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "full", MaxConcurrent: 1, Bus: events.NewBus()})
	lease, err := full.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release(nil)
	for _, gate := range []resilience.Layer{forced, full} {
		bus := events.NewBus()
		tape := record(bus)
		err := ints(bus, resilience.Retry{MaxAttempts: 5, Backoff: resilience.NoDelay, RetryRejections: true}, gate).Run(t.Context(), succeed)
		if n := len(heard[events.CallRejected](tape)); err == nil || n != 1 {
			t.Errorf("%s: %d rejections, %v", gate.LayerInfo().Name, n, err)
		}
	}
}

// RET-03, PIPE-12: a refusal does not hide the failure that came before, however many refusals follow.
func TestRefusalKeepsTheFailureBefore(t *testing.T) {
	for _, turns := range []int{2, 3, 4} {
		synctest.Test(t, func(t *testing.T) {
			breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Cooldown: time.Hour, Bus: events.NewBus()})
			bus := events.NewBus()
			tape := record(bus)
			op := failing{n: -1}
			err := ints(bus, resilience.Retry{MaxAttempts: turns, RetryRejections: true}, breaker).Run(t.Context(), op.run)
			if op.runs != 1 || !errors.Is(err, errBoom) || !errors.Is(err, resilience.ErrBreakerOpen) {
				t.Errorf("%d turns: %d runs, %v; want the failure and the refusal", turns, op.runs, err)
			}
			if e := heard[events.RetryStopped](tape)[0]; e.Reason != events.ReasonExhausted || e.Attempts != 1 {
				t.Errorf("%d turns: stopped %+v", turns, e)
			}
		})
	}
}

// RET-13: so does a cancellation while a refusal is waited out.
func TestCancellationAfterARefusalKeepsTheFailureBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Cooldown: time.Hour, Bus: events.NewBus()})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Second, cancel)
		err := ints(events.NewBus(), resilience.Retry{MaxAttempts: 9, Backoff: resilience.Constant(time.Second), RetryRejections: true}, breaker).Run(ctx, fail)
		for _, want := range []error{errBoom, resilience.ErrBreakerOpen, context.Canceled} {
			if !errors.Is(err, want) {
				t.Errorf("%v is not %v", err, want)
			}
		}
	})
}

// RET-04: a retry outside that asks again sees one refusal, with what came before it.
func TestRefusalGoesThroughRetriesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Cooldown: time.Hour, Bus: events.NewBus()})
		retry := resilience.Retry{MaxAttempts: 2, RetryRejections: true}
		op := failing{n: -1}
		err := ints(events.NewBus(), retry, retry, breaker).Run(t.Context(), op.run)
		if op.runs != 1 || !errors.Is(err, errBoom) || !errors.Is(err, resilience.ErrBreakerOpen) {
			t.Errorf("%d runs, %v", op.runs, err)
		}
	})
}
