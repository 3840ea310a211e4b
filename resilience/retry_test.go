package resilience_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// RET-01
func TestRetryMakesAtMostMaxAttempts(t *testing.T) {
	for _, c := range []struct{ max, want int }{{0, 3}, {1, 1}, {2, 2}, {3, 3}, {40, 40}} {
		op := failing{n: -1}
		err := resilience.Run(t.Context(), op.run, resilience.Retry{MaxAttempts: c.max, Backoff: resilience.NoDelay})
		if err != errBoom || op.runs != c.want {
			t.Errorf("MaxAttempts %d: %d runs, %v; want %d runs and the operation's error", c.max, op.runs, err, c.want)
		}
	}
}

// RET-01
func TestRetryEndsWithTheFirstSuccess(t *testing.T) {
	for _, max := range []int{5, math.MaxInt32, resilience.Unlimited} {
		op := failing{n: 2}
		err := resilience.Run(t.Context(), op.run, resilience.Retry{MaxAttempts: max, Backoff: resilience.NoDelay})
		if err != nil || op.runs != 3 {
			t.Errorf("MaxAttempts %d: %d runs, %v; want 3 runs and no error", max, op.runs, err)
		}
	}
}

// RET-01, RET-10
func TestUnlimitedRetriesUntilTheContextEndsAndKeepsTheCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		op := failing{n: -1}
		retry := resilience.Retry{MaxAttempts: resilience.Unlimited, Jitter: resilience.JitterNone, IgnoreDeadline: true}
		err := ints(bus, retry).Run(ctx, op.run)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errBoom) {
			t.Errorf("got %v, want the context's end and the last failure", err)
		}
		// 250 ms, 500 ms ... 16 s are 7 delays of 31.75 s in all; each further one is the cap.
		if want := 1 + 7 + 118; op.runs != want {
			t.Errorf("%d attempts in an hour, want %d", op.runs, want)
		}
		for i, e := range heard[events.RetryScheduled](tape) {
			if want := min(250*time.Millisecond<<min(i, 10), 30*time.Second); e.Delay != want || e.MaxAttempts != 0 {
				t.Fatalf("delay %d is %v of %d attempts, want %v of 0", i+1, e.Delay, e.MaxAttempts, want)
			}
		}
	})
}

// RET-01, RET-04: a mode of its own is no other loop.
func TestUnlimitedHeedsPermanentAndIf(t *testing.T) {
	bad := errors.New("bad request")
	for name, c := range map[string]struct {
		err error
		yes func(error) bool
	}{
		"Permanent": {err: resilience.Permanent(bad)},
		"If":        {err: bad, yes: func(err error) bool { return err != bad }},
	} {
		var numbers []int
		err := resilience.Run(t.Context(), func(ctx context.Context) error {
			if numbers = append(numbers, resilience.AttemptNumber(ctx)); len(numbers) == 3 {
				return c.err
			}
			return errBoom
		}, resilience.Retry{MaxAttempts: resilience.Unlimited, Backoff: resilience.NoDelay, If: c.yes})
		if !errors.Is(err, bad) || err.Error() != "bad request" || !slices.Equal(numbers, []int{1, 2, 3}) {
			t.Errorf("%s: attempts %v, %v; want 1 2 3 and the third's error", name, numbers, err)
		}
	}
}

// RET-02
func TestAttemptNumberIsTheSameEverywhere(t *testing.T) {
	for _, observed := range []bool{false, true} {
		bus := events.NewBus()
		tape := new(tape)
		if observed {
			tape = record(bus)
		}
		var inOperation, inDelay, inOnRetry []int
		retry := resilience.Retry{MaxAttempts: 4, Backoff: resilience.NoDelay,
			Delay: func(f resilience.FailedAttempt) time.Duration {
				inDelay = append(inDelay, f.Number)
				return resilience.KeepDelay
			},
			OnRetry: func(_ context.Context, f resilience.FailedAttempt) bool {
				inOnRetry = append(inOnRetry, f.Number)
				return true
			},
		}
		_ = ints(bus, retry).Run(t.Context(), func(ctx context.Context) error {
			inOperation = append(inOperation, resilience.AttemptNumber(ctx))
			return errBoom
		})
		if !slices.Equal(inOperation, []int{1, 2, 3, 4}) || !slices.Equal(inDelay, []int{1, 2, 3}) || !slices.Equal(inOnRetry, inDelay) {
			t.Errorf("observed %v: operation %v, Delay %v, OnRetry %v", observed, inOperation, inDelay, inOnRetry)
		}
		if !observed {
			continue
		}
		var told []int
		for _, e := range heard[events.AttemptFinished](tape) {
			told = append(told, e.Attempt)
		}
		for _, e := range heard[events.RetryScheduled](tape) {
			told = append(told, e.Attempt)
		}
		told = append(told, heard[events.RetryStopped](tape)[0].Attempt)
		if !slices.Equal(told, []int{1, 2, 3, 4, 1, 2, 3, 4}) {
			t.Errorf("attempts of the events: %v", told)
		}
	}
}

// RET-02
func TestFirstAttemptDerivesNoContext(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, 1)
	var first context.Context
	op := failing{n: 1}
	_ = resilience.Run(ctx, func(ctx context.Context) error {
		if first == nil {
			first = ctx
		}
		return op.run(ctx)
	}, resilience.Retry{Backoff: resilience.NoDelay})
	if first != ctx {
		t.Error("the first attempt got another context than the caller's")
	}
}

// RET-01: three attempts are two scheduled and one stop, and nothing waits after the last.
func TestExhaustedRetryTellsEachDelayAndItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		began := time.Now()
		_ = ints(bus, resilience.Retry{Backoff: resilience.Constant(time.Second)}).Run(t.Context(), fail)
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("took %v, want two delays of a second", took)
		}
		want := []string{"execution.started", "attempt.started", "attempt.finished", "retry.scheduled", "attempt.started", "attempt.finished",
			"retry.scheduled", "attempt.started", "attempt.finished", "retry.stopped", "execution.finished"}
		if got := tape.names(); !slices.Equal(got, want) {
			t.Errorf("events %v", got)
		}
		stopped := heard[events.RetryStopped](tape)[0]
		if stopped.Reason != events.ReasonExhausted || stopped.Attempts != 3 || stopped.Err != errBoom {
			t.Errorf("stopped: %+v", stopped)
		}
		finished := heard[events.ExecutionFinished](tape)[0]
		if finished.Attempts != 3 || finished.Backoff != 2*time.Second || finished.Reason != events.ReasonExhausted || finished.Layer.Layer() != "retry" {
			t.Errorf("finished: %+v", finished)
		}
	})
}

// RET-04: nested retries of the user's own are two loops; an outer one counts its own turns.
func TestRetryInsideRetryMultiplies(t *testing.T) {
	op := failing{n: -1}
	retry := resilience.Retry{MaxAttempts: 3, Backoff: resilience.NoDelay}
	_ = resilience.Run(t.Context(), op.run, retry, retry)
	if op.runs != 9 {
		t.Errorf("%d runs, want 3 x 3", op.runs)
	}
}
