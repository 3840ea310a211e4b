package resilience_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// RET-13, PIPE-15, PIPE-16
func TestCancellationDuringTheWaitEndsTheRetryAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		gone := errors.New("client gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(300*time.Millisecond, func() { cancel(gone) })
		op := failing{n: -1}
		began := time.Now()
		err := ints(bus, resilience.Retry{Backoff: resilience.Constant(time.Second)}).Run(ctx, op.run)
		if took := time.Since(began); op.runs != 1 || took != 300*time.Millisecond {
			t.Errorf("%d runs, returned after %v", op.runs, took)
		}
		for _, want := range []error{context.Canceled, gone, errBoom} {
			if !errors.Is(err, want) {
				t.Errorf("%v is not %v", err, want)
			}
		}
		if got := heard[events.AttemptStarted](tape); len(got) != 1 {
			t.Errorf("%d attempts were told, want 1", len(got))
		}
		if e := heard[events.RetryStopped](tape)[0]; e.Reason != events.ReasonCanceled {
			t.Errorf("stopped for %v", e.Reason)
		}
		if e := heard[events.ExecutionFinished](tape)[0]; e.Outcome != events.OutcomeCanceled || e.Backoff != 300*time.Millisecond {
			t.Errorf("finished: %+v", e)
		}
	})
}

// RET-13: also when it comes at the very end of the wait.
func TestNoAttemptStartsAtTheMomentOfTheCallersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op := failing{n: -1}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second-1)
		defer cancel()
		retry := resilience.Retry{Backoff: resilience.Constant(time.Second), IgnoreDeadline: true}
		err := ints(events.Off(), retry).Run(sleepy{ctx}, op.run)
		if op.runs != 1 || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errBoom) {
			t.Errorf("%d runs, %v", op.runs, err)
		}
	})
}

// RET-11, RET-13: a wait of nothing is a wait, too; after a cancellation nothing more is announced.
func TestCancellationInsideACallbackEndsTheRetry(t *testing.T) {
	for _, where := range []string{"If", "Delay", "OnRetry", "event"} {
		bus := events.NewBus()
		ctx, cancel := context.WithCancel(t.Context())
		at := func(place string) {
			if place == where {
				cancel()
			}
		}
		scheduled, asked := 0, 0
		bus.RetryScheduled.Subscribe(func(context.Context, events.RetryScheduled) { scheduled++; at("event") })
		op := failing{n: -1}
		err := ints(bus, resilience.Retry{Backoff: resilience.NoDelay,
			If:      func(error) bool { at("If"); return true },
			Delay:   func(resilience.FailedAttempt) time.Duration { at("Delay"); return 0 },
			OnRetry: func(context.Context, resilience.FailedAttempt) bool { asked++; at("OnRetry"); return true },
		}).Run(ctx, op.run)
		if told := where == "event"; (scheduled > 0) != told || (asked > 0) != (told || where == "OnRetry") {
			t.Errorf("%s: OnRetry was called %d times, and %d retries were told", where, asked, scheduled)
		}
		if op.runs != 1 || !errors.Is(err, context.Canceled) || !errors.Is(err, errBoom) {
			t.Errorf("%s: %d runs, %v", where, op.runs, err)
		}
	}
}

// RET-16
func TestRetryStopsWhenTheDeadlineComesBeforeTheNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, byLayer := range []bool{false, true} {
			bus := events.NewBus()
			tape := record(bus)
			layers := []resilience.Layer{resilience.Retry{MaxAttempts: 5, Backoff: resilience.Constant(600 * time.Millisecond)}}
			ctx, cancel := context.WithCancel(t.Context())
			if byLayer {
				layers = append([]resilience.Layer{resilience.Timeout{After: time.Second}}, layers...)
			} else {
				ctx, cancel = context.WithTimeout(ctx, time.Second)
			}
			op := failing{n: -1}
			began := time.Now()
			err := ints(bus, layers...).Run(ctx, op.run)
			if took := time.Since(began); err != errBoom || op.runs != 2 || took != 600*time.Millisecond {
				t.Errorf("layer %v: %d runs in %v, %v; want 2 in 600 ms and the last outcome", byLayer, op.runs, took, err)
			}
			if n := len(heard[events.RetryScheduled](tape)); n != 1 {
				t.Errorf("layer %v: %d retries scheduled, want 1", byLayer, n)
			}
			if e := heard[events.RetryStopped](tape)[0]; e.Reason != events.ReasonDeadline || e.Attempts != 2 {
				t.Errorf("layer %v: stopped: %+v", byLayer, e)
			}
			cancel()
		}
	})
}

// RET-16: a delay that ends with the deadline is too long; one that ends before is not.
func TestDeadlineIsComparedWithTheFinalDelay(t *testing.T) {
	for _, c := range []struct {
		delay, waited time.Duration
		runs          int
	}{{time.Second, 0, 1}, {time.Second - 1, time.Second - 1, 2}, {2 * time.Second, 0, 1}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			op := failing{n: -1}
			began := time.Now()
			err := resilience.Run(ctx, op.run, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay,
				Delay: func(resilience.FailedAttempt) time.Duration { return c.delay }})
			if waited := time.Since(began); op.runs != c.runs || err != errBoom || waited != c.waited {
				t.Errorf("delay %v: %d runs, waited %v, %v; want %d, %v and the last outcome", c.delay, op.runs, waited, err, c.runs, c.waited)
			}
		})
	}
}

// RET-16: the nearest deadline counts, wherever it is, and looking for it makes no timer.
func TestTheNearestDeadlineStopsTheRetry(t *testing.T) {
	total := func(d time.Duration) resilience.Layer { return resilience.Timeout{After: d} }
	for name, c := range map[string]struct {
		caller time.Duration // 0: none
		layers []resilience.Layer
		runs   int
	}{
		"the outer limit":                    {0, []resilience.Layer{total(time.Second), total(time.Minute)}, 1},
		"the inner limit":                    {0, []resilience.Layer{total(time.Minute), total(time.Second)}, 1},
		"the caller's":                       {time.Second, []resilience.Layer{total(time.Minute)}, 1},
		"the caller's, behind a gate":        {time.Second, []resilience.Layer{total(time.Minute), bulkhead(1, 0, 0), total(time.Minute)}, 1},
		"the limit, with a caller's after":   {time.Minute, []resilience.Layer{total(time.Second)}, 1},
		"none comes before the next attempt": {time.Minute, []resilience.Layer{total(time.Minute), total(3 * time.Second)}, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, began := t.Context(), time.Now()
			if c.caller > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.caller)
				defer cancel()
			}
			op := failing{n: -1}
			layers := append(slices.Clone(c.layers), resilience.Retry{Backoff: resilience.Constant(2 * time.Second)})
			err := ints(events.NewBus(), layers...).Run(ctx, op.run)
			if waited := time.Duration(c.runs-1) * 2 * time.Second; err != errBoom || op.runs != c.runs || time.Since(began) != waited {
				t.Errorf("%s: %d runs in %v, %v; want %d in %v", name, op.runs, time.Since(began), err, c.runs, waited)
			}
		})
	}
}

// RET-11, RET-16: a retry that cannot be is not announced, not even to OnRetry.
func TestOnRetryIsNotCalledForARetryThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		called := 0
		_ = resilience.Run(ctx, fail, resilience.Retry{Backoff: resilience.Constant(time.Minute),
			OnRetry: func(context.Context, resilience.FailedAttempt) bool { called++; return true }})
		if called != 0 {
			t.Error("OnRetry was called for a retry after the deadline")
		}
	})
}

// RET-11, RET-16: what OnRetry takes counts.
func TestDeadlineIsCheckedAgainAfterOnRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := ints(bus, resilience.Retry{Backoff: resilience.Constant(600 * time.Millisecond),
			OnRetry: func(context.Context, resilience.FailedAttempt) bool { time.Sleep(500 * time.Millisecond); return true },
		}).Run(ctx, fail)
		if took := time.Since(began); err != errBoom || took != 500*time.Millisecond || len(heard[events.RetryScheduled](tape)) != 0 {
			t.Errorf("%v after %v, scheduled %v", err, took, heard[events.RetryScheduled](tape))
		}
	})
}

// RET-16
func TestIgnoreDeadlineWaitsUntilTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := resilience.Run(ctx, fail, resilience.Retry{Backoff: resilience.Constant(time.Minute), IgnoreDeadline: true})
		if took := time.Since(began); took != time.Second || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errBoom) {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// RET-04, PIPE-21: the attempt's limit is no end of the caller's context, the caller's is.
func TestAttemptsTimeoutIsRetriedTheCallersEndIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layers := []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay}, resilience.Timeout{After: time.Second}}
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		runs := 0
		err := ints(events.NewBus(), layers...).Run(t.Context(), func(ctx context.Context) error { runs++; return hang(ctx) })
		if runs != 3 || !errors.Is(err, resilience.ErrTimeout) || resilience.KindOf(err) != resilience.KindUnavailable {
			t.Errorf("attempt's limit: %d runs, %v", runs, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		runs = 0
		err = ints(events.NewBus(), layers...).Run(ctx, func(ctx context.Context) error { runs++; return hang(ctx) })
		if runs != 2 || errors.Is(err, resilience.ErrTimeout) || resilience.KindOf(err) != resilience.KindCanceled {
			t.Errorf("caller's deadline: %d runs, %v", runs, err)
		}
		runs = 0
		err = ints(events.NewBus(), layers...).Run(t.Context(), func(context.Context) error { runs++; return context.DeadlineExceeded })
		if runs != 3 || err != context.DeadlineExceeded {
			t.Errorf("the operation's own deadline: %d runs, %v", runs, err)
		}
	})
}

// PIPE-04: what one call goes through is no other's.
func TestCancellingOneCallLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := ints(events.NewBus(), resilience.Retry{Backoff: resilience.Constant(time.Second)})
		var wg sync.WaitGroup
		errs := make([]error, 100)
		numbers := make([][]int, 100)
		for i := range errs {
			ctx, cancel := context.WithCancel(t.Context())
			if i == 42 {
				time.AfterFunc(1500*time.Millisecond, cancel)
			}
			wg.Go(func() {
				defer cancel()
				op := failing{n: 2}
				errs[i] = p.Run(ctx, func(ctx context.Context) error {
					numbers[i] = append(numbers[i], resilience.AttemptNumber(ctx))
					return op.run(ctx)
				})
			})
		}
		wg.Wait()
		for i, err := range errs {
			want := []int{1, 2, 3}
			if i == 42 {
				want = want[:2]
			}
			if (err != nil) != (i == 42) || !slices.Equal(numbers[i], want) {
				t.Errorf("call %d: attempts %v, %v", i, numbers[i], err)
			}
		}
	})
}

// RET-02, BUS-07: values of the caller's context are there in every attempt and every event.
func TestContextValuesReachAttemptsAndEvents(t *testing.T) {
	type key struct{}
	bus := events.NewBus()
	missing := 0
	see := func(ctx context.Context) {
		if ctx.Value(key{}) != "priority" {
			missing++
		}
	}
	bus.Subscribe(func(ctx context.Context, e events.Event) {
		if e.Header().Execution != 0 {
			see(ctx)
		}
	})
	breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: bus})
	p := ints(bus, resilience.Timeout{}, resilience.Retry{Backoff: resilience.NoDelay}, breaker, resilience.Timeout{After: time.Minute})
	for range 3 {
		_ = p.Run(context.WithValue(t.Context(), key{}, "priority"), func(ctx context.Context) error { see(ctx); return errBoom })
	}
	if missing != 0 {
		t.Errorf("the value was missing %d times", missing)
	}
}
