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

// RET-17, PIPE-15, PITFALL-32: what takes from a feedback budget, and what does not.
func TestWhatAFeedbackBudgetCounts(t *testing.T) {
	full := bulkhead(1, 0, 0)
	lease, _ := full.Acquire(t.Context())
	defer lease.Release(nil)
	never := func(error) bool { return false }
	for name, c := range map[string]struct {
		retry  resilience.Retry
		layers []resilience.Layer // inside the retry
		op     func(ctx context.Context, cancel context.CancelFunc) (*reply, error)
		taken  int
	}{
		"each failed attempt": {op: func(context.Context, context.CancelFunc) (*reply, error) { return nil, errBoom }, taken: 3},
		"the only attempt":    {retry: resilience.Retry{MaxAttempts: 1}, op: func(context.Context, context.CancelFunc) (*reply, error) { return nil, errBoom }, taken: 1},
		"failing values":      {op: func(context.Context, context.CancelFunc) (*reply, error) { return &reply{status: 503}, nil }, taken: 3},
		"an attempt's limit":  {layers: []resilience.Layer{resilience.Timeout{After: time.Second}}, op: func(ctx context.Context, _ context.CancelFunc) (*reply, error) { <-ctx.Done(); return nil, ctx.Err() }, taken: 3},
		"OnRetry ends it":     {retry: resilience.Retry{OnRetry: func(context.Context, resilience.FailedAttempt) bool { return false }}, op: func(context.Context, context.CancelFunc) (*reply, error) { return nil, errBoom }, taken: 1},
		"too long a hint": {retry: resilience.Retry{StopOnLongHint: true}, op: func(context.Context, context.CancelFunc) (*reply, error) {
			return nil, resilience.RetryAfter(errBoom, time.Hour)
		}, taken: 1},
		"the backoff panics":       {retry: resilience.Retry{Rand: func() float64 { panic("oh") }, Backoff: resilience.Exponential{}}, op: func(context.Context, context.CancelFunc) (*reply, error) { return nil, errBoom }, taken: 1},
		"not retryable":            {retry: resilience.Retry{If: never}, op: func(context.Context, context.CancelFunc) (*reply, error) { return nil, errBoom }},
		"not retryable, the last":  {retry: resilience.Retry{If: never, MaxAttempts: 1}, op: func(context.Context, context.CancelFunc) (*reply, error) { return nil, errBoom }},
		"the predicate panics":     {retry: resilience.Retry{If: func(error) bool { panic("oh") }}, op: func(context.Context, context.CancelFunc) (*reply, error) { return nil, errBoom }},
		"permanent":                {op: func(context.Context, context.CancelFunc) (*reply, error) { return nil, resilience.Permanent(errBoom) }},
		"a panic":                  {op: func(context.Context, context.CancelFunc) (*reply, error) { panic("oh") }},
		"an operation ends itself": {op: func(context.Context, context.CancelFunc) (*reply, error) { return nil, resilience.ErrGoexit }},
		"a refusal":                {layers: []resilience.Layer{full}, op: func(context.Context, context.CancelFunc) (*reply, error) { return nil, nil }},
		"a refusal, retried":       {retry: resilience.Retry{RetryRejections: true}, layers: []resilience.Layer{opened(t)}, op: func(context.Context, context.CancelFunc) (*reply, error) { return nil, nil }},
		"the caller leaves":        {op: func(ctx context.Context, cancel context.CancelFunc) (*reply, error) { cancel(); return nil, ctx.Err() }},
		"the caller leaves before": {op: func(_ context.Context, cancel context.CancelFunc) (*reply, error) { cancel(); return nil, errBoom }},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := tokens(100)
			c.retry.Budget, c.retry.Backoff = b, orNoDelay(c.retry.Backoff)
			p := resilience.MustPipeline(resilience.PipelineConfig[*reply]{Name: "p", Bus: events.Off(), Classify: judge, RecoverPanics: true,
				Layers: append([]resilience.Layer{c.retry}, c.layers...)})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p.Do(ctx, func(ctx context.Context) (*reply, error) { return c.op(ctx, cancel) })
			if taken := 50 - b.Available(); taken != c.taken {
				t.Errorf("%s: %d tokens taken, want %d", name, taken, c.taken)
			}
		})
	}
}

func orNoDelay(b resilience.Backoff) resilience.Backoff {
	if b == nil {
		return resilience.NoDelay
	}
	return b
}

// RET-17, PIPE-15: an attempt that a Timeout of ours has ended had its time; the caller's deadline is no failure.
func TestOnlyOurOwnTotalLimitIsAFailureToABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		b := tokens(100)
		retry := resilience.Retry{Budget: b}
		if err := ints(events.Off(), resilience.Timeout{After: time.Second}, retry).Run(t.Context(), hang); !errors.Is(err, resilience.ErrTimeout) {
			t.Error(err)
		}
		if taken := 50 - b.Available(); taken != 1 {
			t.Errorf("our limit: %d taken, want 1", taken)
		}
		_ = ints(events.Off(), resilience.Timeout{After: time.Second}, retry).Run(t.Context(), func(ctx context.Context) error {
			return resilience.Permanent(hang(ctx))
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := ints(events.Off(), retry).Run(ctx, hang); resilience.KindOf(err) != resilience.KindCanceled {
			t.Error(err)
		}
		if taken := 50 - b.Available(); taken != 1 {
			t.Errorf("permanent, and the caller's deadline: %d taken in all, want still 1", taken)
		}
	})
}

// RET-17: an error that Classify calls no failure is a success, also after others.
func TestWhatIsNoFailureFillsABudget(t *testing.T) {
	for _, after := range []int{0, 1} {
		b := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "payments", Tokens: 100, Ratio: 4, Bus: events.Off()})
		retry := resilience.Retry{Backoff: resilience.NoDelay, Budget: b}
		runsOf(t, 3, retry) // takes 9
		runs := 0
		_, err := judged(events.Off(), retry).Do(t.Context(), func(context.Context) (*reply, error) {
			if runs++; runs > after {
				return nil, errGone
			}
			return nil, errBoom
		})
		if want := 50 - 9 + 4 - after; err != errGone || b.Available() != want {
			t.Errorf("after %d failures: %v, %d left, want %d", after, err, b.Available(), want)
		}
	}
}

// RET-06: a budget has to know whether the last failure is one that is retried.
func TestIfIsAskedOfTheLastAttemptToFeedABudget(t *testing.T) {
	for _, c := range []struct {
		budget *resilience.RetryBudget
		asked  int
	}{{tokens(100), 2}, {nil, 1}} {
		asked := 0
		_ = resilience.Run(t.Context(), fail, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay, Budget: c.budget,
			If: func(error) bool { asked++; return true }})
		if asked != c.asked {
			t.Errorf("budget %v: asked %d times, want %d", c.budget != nil, asked, c.asked)
		}
	}
}
