package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// BRK-07: a deferred Done sees the error that the function returns, and a panic.
func TestDoneReadsTheErrorAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		work  func() error
		state events.State
	}{
		"success": {func() error { return nil }, events.StateClosed},
		"failure": {func() error { return errBoom }, events.StateOpen},
		"panic":   {func() error { panic("oh") }, events.StateOpen},
	} {
		b := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: events.Off()})
		call := func() (err error) {
			lease, err := b.Acquire(t.Context())
			if err != nil {
				return err
			}
			defer lease.Done(&err)
			return c.work()
		}
		func() {
			defer func() {
				if v := recover(); (v != nil) != (name == "panic") {
					t.Errorf("%s: panicked with %v", name, v)
				}
			}()
			_ = call()
		}()
		if b.State() != c.state {
			t.Errorf("%s: the breaker is %v, want %v", name, b.State(), c.state)
		}
	}
}

func TestZeroBreakersAndBulkheadsSayThatNobodyMadeThem(t *testing.T) {
	for _, run := range []func() error{
		func() error { return new(resilience.Breaker).Run(t.Context(), succeed) },
		func() error { return new(resilience.Bulkhead).Run(t.Context(), succeed) },
		func() error { _, err := new(resilience.Breaker).Acquire(t.Context()); return err },
		func() error { _, err := new(resilience.Bulkhead).Acquire(t.Context()); return err },
	} {
		if err := run(); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}

// PIPE-28: a breaker that is run from within an Around hands a failing value's mark on, so that a Retry outside sees it.
func TestABreakerWithinAnAroundKeepsFailingValues(t *testing.T) {
	b := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", Bus: events.Off()})
	runs := 0
	v, err := judged(events.Off(), resilience.Retry{Backoff: resilience.NoDelay},
		resilience.Around("mine", func(ctx context.Context, next func(context.Context) error) error { return b.Run(ctx, next) }),
	).Do(t.Context(), func(context.Context) (*reply, error) { runs++; return &reply{status: 503}, nil })
	if runs != 3 || err != nil || v == nil || v.status != 503 {
		t.Errorf("%d runs, %v, %v; want 3, the last value and no error", runs, v, err)
	}
	if got := b.Snapshot().Failures; got != 3 {
		t.Errorf("the breaker counted %d failures, want 3", got)
	}
}

// PIPE-11
func TestKindOfKnowsTheSentinels(t *testing.T) {
	for err, want := range map[error]resilience.Kind{
		resilience.ErrBreakerOpen: resilience.KindUnavailable, resilience.ErrTimeout: resilience.KindUnavailable,
		resilience.ErrLimited: resilience.KindLimited, resilience.ErrClosed: resilience.KindUnavailable,
	} {
		if got := resilience.KindOf(err); got != want {
			t.Errorf("%v is %v, want %v", err, got, want)
		}
	}
}

func TestWhatHasAStatePrintsItsNameAndNotItsInsides(t *testing.T) {
	b := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Bus: events.Off()})
	h := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", Bus: events.Off()})
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "users", Bus: events.Off(), Layers: []resilience.Layer{h, resilience.Retry{}, b}})
	if got := fmt.Sprint(b, ", ", h, ", ", p); got != "circuit breaker db (closed), bulkhead pool (0 of 100), pipeline users [pool > retry > db]" {
		t.Error(got)
	}
}
