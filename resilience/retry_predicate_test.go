package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// RET-04
func TestIfDecidesWhichFailuresAreRetried(t *testing.T) {
	fatal := errors.New("fatal")
	var asked []error
	bus := events.NewBus()
	tape := record(bus)
	op := failing{n: 1}
	err := ints(bus, resilience.Retry{MaxAttempts: 5, Backoff: resilience.NoDelay, If: func(err error) bool {
		asked = append(asked, err)
		return err != fatal
	}}).Run(t.Context(), func(ctx context.Context) error {
		if err := op.run(ctx); err != nil {
			return err
		}
		return fatal
	})
	if err != fatal || op.runs != 2 || !slices.Equal(asked, []error{errBoom, fatal}) {
		t.Errorf("%v after %d runs, asked about %v", err, op.runs, asked)
	}
	if e := heard[events.RetryStopped](tape)[0]; e.Reason != events.ReasonNotRetryable {
		t.Errorf("reason %v", e.Reason)
	}
}

// RET-04
func TestPipelinesPredicateIsTheDefault(t *testing.T) {
	no := func(error) bool { return false }
	yes := func(error) bool { return true }
	for _, c := range []struct {
		own  func(error) bool
		want int
	}{{nil, 1}, {yes, 3}} {
		op := failing{n: -1}
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", RetryIf: no, Bus: events.NewBus(),
			Layers: []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay, If: c.own}}})
		_ = p.Run(t.Context(), op.run)
		if op.runs != c.want {
			t.Errorf("own predicate %v: %d runs, want %d", c.own != nil, op.runs, c.want)
		}
	}
}

// RET-04: neither the caller's cancellation, nor a panic, nor a refusal, nor a permanent error is a question for If.
func TestIfIsNeverShownWhatIsNeverRetried(t *testing.T) {
	full := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "full", MaxConcurrent: 1, Bus: events.NewBus()})
	lease, err := full.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release(nil)
	for name, op := range map[string]func(context.Context, context.CancelFunc) error{
		"cancellation":         func(ctx context.Context, cancel context.CancelFunc) error { cancel(); return ctx.Err() },
		"failure when leaving": func(_ context.Context, cancel context.CancelFunc) error { cancel(); return errBoom },
		"panic":                func(context.Context, context.CancelFunc) error { panic("oh") },
		"refusal":              func(ctx context.Context, _ context.CancelFunc) error { return full.Run(ctx, succeed) },
		"wrapped refusal": func(ctx context.Context, _ context.CancelFunc) error {
			return fmt.Errorf("call: %w", full.Run(ctx, succeed))
		},
		"permanent": func(context.Context, context.CancelFunc) error { return resilience.Permanent(errBoom) },
	} {
		asked, runs := 0, 0
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", RecoverPanics: true, Bus: events.NewBus(),
			Layers: []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay, If: func(error) bool { asked++; return true }}}})
		ctx, cancel := context.WithCancel(t.Context())
		err := p.Run(ctx, func(ctx context.Context) error { runs++; return op(ctx, cancel) })
		cancel()
		if err == nil || asked != 0 || runs != 1 {
			t.Errorf("%s: asked %d times, %d runs, %v", name, asked, runs, err)
		}
	}
}

// RET-04, PIPE-11: a panic that came after the attempt's limit is still one.
func TestPanicAfterTheAttemptsLimitIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", RecoverPanics: true, Bus: events.NewBus(),
			Layers: []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay}, resilience.Timeout{After: time.Second}}})
		err := p.Run(t.Context(), func(ctx context.Context) error {
			runs++
			<-ctx.Done()
			panic("late")
		})
		if p := new(resilience.PanicError); !errors.As(err, &p) || runs != 1 {
			t.Errorf("%d runs, %v; want one, and the panic in the error", runs, err)
		}
	})
}

// RET-06
func TestIfIsNotAskedWhenNoRetryRemains(t *testing.T) {
	for _, max := range []int{1, 2, 3} {
		asked := 0
		_ = resilience.Run(t.Context(), fail, resilience.Retry{MaxAttempts: max, Backoff: resilience.NoDelay,
			If: func(error) bool { asked++; return true }})
		if asked != max-1 {
			t.Errorf("MaxAttempts %d: asked %d times", max, asked)
		}
	}
}

// RET-07, RET-21: a callback's panic is told and changes nothing else.
func TestPanicsOfCallbacksAreTold(t *testing.T) {
	for _, c := range []struct {
		callback string
		retry    resilience.Retry
		runs     int
	}{
		{"Retry.If", resilience.Retry{If: func(error) bool { panic("oh") }}, 1},
		{"Retry.Backoff", resilience.Retry{Backoff: resilience.BackoffFunc(func(int, time.Duration) time.Duration { panic("oh") })}, 1},
		{"Retry.Backoff", resilience.Retry{Rand: func() float64 { panic("oh") }}, 1},
		{"Retry.Delay", resilience.Retry{Backoff: resilience.NoDelay, Delay: func(resilience.FailedAttempt) time.Duration { panic("oh") }}, 2},
		{"Retry.OnRetry", resilience.Retry{Backoff: resilience.NoDelay, OnRetry: func(context.Context, resilience.FailedAttempt) bool { panic("oh") }}, 2},
	} {
		bus := events.NewBus()
		tape := record(bus)
		op := failing{n: -1}
		c.retry.MaxAttempts = 2
		err := ints(bus, c.retry).Run(t.Context(), op.run)
		told := heard[events.CallbackPanicked](tape)
		if err != errBoom || op.runs != c.runs {
			t.Errorf("%s: %d runs, %v; want %d and the operation's error", c.callback, op.runs, err, c.runs)
		}
		if len(told) != 1 || told[0].Callback != c.callback || told[0].Value != "oh" || told[0].Source.Layer() != "retry" {
			t.Errorf("%s: told %+v", c.callback, told)
		}
	}
}

// RET-15
func TestPermanentEndsEveryEnclosingRetry(t *testing.T) {
	breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: events.NewBus()})
	bus := events.NewBus()
	tape := record(bus)
	runs := 0
	retry := resilience.Retry{Backoff: resilience.NoDelay}
	err := ints(bus, retry, retry, breaker).Run(t.Context(), func(context.Context) error {
		runs++
		return fmt.Errorf("save: %w", resilience.Permanent(errBoom))
	})
	if runs != 1 || err.Error() != "save: boom" || !errors.Is(err, errBoom) {
		t.Errorf("%d runs, %v; want one and the error without a mark in its text", runs, err)
	}
	for _, e := range heard[events.RetryStopped](tape) {
		if e.Reason != events.ReasonPermanent {
			t.Errorf("%s stopped for %v", e.Source.Layer(), e.Reason)
		}
	}
	if breaker.State() != events.StateOpen {
		t.Error("the breaker did not count the permanent failure")
	}
	if resilience.Permanent(nil) != nil {
		t.Error("Permanent(nil) is an error")
	}
}

// RET-15
func TestOnRetryReturningFalseEndsTheLoop(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	op := failing{n: -1}
	err := ints(bus, resilience.Retry{MaxAttempts: 5, Backoff: resilience.NoDelay,
		OnRetry: func(_ context.Context, f resilience.FailedAttempt) bool { return f.Number < 2 },
	}).Run(t.Context(), op.run)
	if err != errBoom || op.runs != 2 {
		t.Errorf("%d runs, %v", op.runs, err)
	}
	if e := heard[events.RetryStopped](tape)[0]; e.Reason != events.ReasonStopped || e.Attempts != 2 {
		t.Errorf("stopped: %+v", e)
	}
	if n := len(heard[events.RetryScheduled](tape)); n != 1 {
		t.Errorf("%d retries scheduled, want 1", n)
	}
}
