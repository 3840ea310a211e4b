package resilience_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// tokens returns a feedback budget. A success gives it back next to nothing.
func tokens(n int) *resilience.RetryBudget {
	return resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "payments", Tokens: n, Ratio: 0.001, Bus: events.Off()})
}

// allowance returns a budget of n extra attempts an hour.
func allowance(n int) *resilience.RetryBudget {
	return resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "payments", Allowance: n, Window: time.Hour, Bus: events.Off()})
}

// runsOf counts the attempts of each of n calls that fail.
func runsOf(t *testing.T, n int, retry resilience.Retry) (runs []int) {
	t.Helper()
	for range n {
		op := failing{n: -1}
		if err := resilience.Run(t.Context(), op.run, retry); err != errBoom {
			t.Fatalf("got %v, want the last outcome", err)
		}
		runs = append(runs, op.runs)
	}
	return runs
}

// RET-17: what a ratio means, also one above 1: it is used up where more than Ratio/(1+Ratio) of the attempts fail.
func TestARatioIsTheExtraAttemptsThatASuccessPaysFor(t *testing.T) {
	for _, c := range []struct {
		ratio     float64
		successes int // for so many failures as follow, it lasts for ever; for one more, it does not
		failures  int
	}{{0.1, 10, 1}, {0.5, 2, 1}, {1, 1, 1}, {2, 1, 2}, {10, 1, 10}} {
		for more, drained := range map[int]bool{0: false, 1: true} {
			b := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "payments", Ratio: c.ratio, Bus: events.Off()})
			once := resilience.Retry{MaxAttempts: 1, Budget: b}
			for range 200 {
				for range c.failures + more {
					_ = resilience.Run(t.Context(), fail, once)
				}
				for range c.successes {
					_ = resilience.Run(t.Context(), succeed, once)
				}
			}
			for range c.failures {
				_ = resilience.Run(t.Context(), fail, once)
			}
			if got := b.Available() == 0; got != drained {
				t.Errorf("ratio %v, %d failures to %d successes: %v", c.ratio, c.failures+more, c.successes, b)
			}
		}
	}
}

// RET-17: with the defaults, 100 tokens, the 50th failure in a row takes the budget to its half, where it denies.
func TestFeedbackBudgetDeniesFromItsHalfOn(t *testing.T) {
	b := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "payments", Bus: events.Off()})
	retry := resilience.Retry{MaxAttempts: 4, Backoff: resilience.NoDelay, Budget: b}
	got := runsOf(t, 14, retry)
	want := []int{4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 1} // the first attempt always runs
	if !slices.Equal(got, want) || b.Available() != 0 {
		t.Errorf("runs %v, %d left; want %v and 0", got, b.Available(), want)
	}
	// 51 attempts failed, 49 tokens are left. Each success returns a tenth: 10 of them lead to the half, the next beyond.
	for range 10 {
		_ = resilience.Run(t.Context(), succeed, retry)
	}
	if b.Available() != 0 {
		t.Errorf("at the half %d are left, want 0", b.Available())
	}
	_ = resilience.Run(t.Context(), succeed, retry)
	if b.Available() != 1 {
		t.Errorf("beyond the half %d are left, want 1", b.Available())
	}
	for range 1000 {
		_ = resilience.Run(t.Context(), succeed, retry)
	}
	if got := b.Snapshot(); got.Available != 50 || got.Limit != 50 {
		t.Errorf("after many successes %+v, want all 50", got)
	}
}

// RET-17: failures do not take it below nothing, nor successes above its maximum.
func TestFeedbackBudgetIsBounded(t *testing.T) {
	b := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "payments", Tokens: 4, Ratio: 1, Bus: events.Off()})
	retry := resilience.Retry{MaxAttempts: 1, Budget: b}
	runsOf(t, 100, retry)
	for i, want := range []int{0, 0, 1, 2, 2} {
		if _ = resilience.Run(t.Context(), succeed, retry); b.Available() != want {
			t.Errorf("after %d successes %d left, want %d", i+1, b.Available(), want)
		}
	}
	runsOf(t, 1, retry)
	if b.Available() != 1 {
		t.Errorf("after a failure %d left, want 1: what exceeded the maximum is lost", b.Available())
	}
}

// RET-19, RET-20: a denial returns the last outcome, is told with its reason, and is no attempt.
func TestDenialIsToldAndIsNoAttempt(t *testing.T) {
	for name, drained := range map[string]*resilience.RetryBudget{"feedback": tokens(1), "replenishing": allowance(1)} {
		runsOf(t, 1, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay, Budget: drained})
		bus := events.NewBus()
		tape := record(bus)
		op, onRetry := failing{n: -1}, 0
		err := ints(bus, resilience.Retry{Name: "again", Budget: drained,
			OnRetry: func(context.Context, resilience.FailedAttempt) bool { onRetry++; return true }}).Run(t.Context(), op.run)
		if err != errBoom || op.runs != 1 || onRetry != 0 {
			t.Errorf("%s: %v after %d runs, OnRetry called %d times; want the last outcome after the first", name, err, op.runs, onRetry)
		}
		if n := len(heard[events.AttemptStarted](tape)) + len(heard[events.RetryScheduled](tape)); n != 1 {
			t.Errorf("%s: %d attempts and retries were told, want the first attempt", name, n)
		}
		if told := heard[events.RetryStopped](tape); len(told) != 1 || told[0].Reason != events.ReasonBudget || told[0].Attempts != 1 || told[0].Err != errBoom {
			t.Errorf("%s: stopped %+v", name, told)
		}
		e := heard[events.ExecutionFinished](tape)[0]
		if e.Outcome != events.OutcomeFailure || e.Reason != events.ReasonBudget || e.Layer.Layer() != "again" || e.Attempts != 1 {
			t.Errorf("%s: finished %+v", name, e)
		}
	}
}

// RET-19, PIPE-05: one budget in pipelines of different result types is one state; retries of either take from it.
func TestABudgetIsSharedByPipelines(t *testing.T) {
	for name, b := range map[string]*resilience.RetryBudget{"feedback": tokens(6), "replenishing": allowance(2)} {
		retry := resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay, Budget: b}
		numbers, texts := ints(events.Off(), retry), replies(events.Off(), retry)
		var runs []int
		for range 2 {
			n := 0
			_, _ = numbers.Do(t.Context(), func(context.Context) (int, error) { n++; return 0, errBoom })
			_, _ = texts.Do(t.Context(), func(context.Context) (*reply, error) { n++; return nil, errBoom })
			runs = append(runs, n)
		}
		if want := map[string][]int{"feedback": {3, 2}, "replenishing": {4, 2}}[name]; !slices.Equal(runs, want) {
			t.Errorf("%s: runs %v, want %v", name, runs, want)
		}
	}
}

// RET-20: the same budget at two retries of one pipeline: each extra attempt takes one token, each failed one counts once.
func TestNestedRetriesChargeTheirOwnExtraAttempts(t *testing.T) {
	for name, c := range map[string]struct {
		b     *resilience.RetryBudget
		n     int // that fail
		taken int
	}{
		"replenishing":            {allowance(100), -1, 8}, // 9 runs, of which 8 are extra
		"replenishing, a success": {allowance(100), 4, 4},
		"feedback":                {tokens(200), -1, 9},
		"feedback, a success":     {tokens(200), 4, 3}, // 200 - 4 + 0.001 tokens leave 97 extra attempts of 100
	} {
		retry := resilience.Retry{Backoff: resilience.NoDelay, Budget: c.b}
		op := failing{n: c.n}
		_ = resilience.Run(t.Context(), op.run, retry, retry)
		if taken := int(c.b.Snapshot().Limit) - c.b.Available(); taken != c.taken {
			t.Errorf("%s: %d runs took %d, want %d", name, op.runs, taken, c.taken)
		}
	}
}

// RET-20: where another budget is nested, each learns of its own layer's outcomes.
func TestNestedBudgetsAreFedApart(t *testing.T) {
	outer, inner := tokens(100), tokens(100)
	_ = resilience.Run(t.Context(), fail, resilience.Retry{Backoff: resilience.NoDelay, Budget: outer}, resilience.Retry{Backoff: resilience.NoDelay, Budget: inner})
	if o, i := 50-outer.Available(), 50-inner.Available(); o != 3 || i != 9 {
		t.Errorf("the outer lost %d and the inner %d, want 3 and 9", o, i)
	}
}

// PIPE-18, PIPE-23: who looks at a pipeline sees whose budget it uses, and the bus lists the budget.
func TestABudgetIsListedAndNamed(t *testing.T) {
	bus := events.NewBus()
	b := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "payments", Allowance: 3, Window: time.Hour, Bus: bus})
	p := ints(bus, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay, Budget: b}, resilience.Retry{MaxAttempts: 1, Budget: b}, resilience.Retry{Name: "free"})
	layers := p.Describe().Layers
	for i, want := range []string{"payments", "payments", ""} {
		named := slices.Contains(layers[i].Settings, resilience.Setting{Name: "budget", Value: "payments"})
		if layers[i].Shared != want || named != (want != "") {
			t.Errorf("layer %d: %+v", i, layers[i])
		}
	}
	_ = p.Run(t.Context(), func(context.Context) error { return resilience.Permanent(errBoom) })
	_ = p.Run(t.Context(), fail)
	found := false
	for _, s := range bus.Sources() {
		if s.Type() == events.TypePipeline {
			if s.Layers()[0].Shared() == nil || s.Layers()[0].Shared().Type() != events.TypeRetryBudget || s.Layers()[2].Shared() != nil {
				t.Errorf("the layers share %v and %v", s.Layers()[0].Shared(), s.Layers()[2].Shared())
			}
			continue
		}
		found = true
		reading, ok := s.Budget()
		if s.Type() != events.TypeRetryBudget || s.Layer() != "payments" || !ok || reading != (events.BudgetReading{Available: 2, Limit: 3}) {
			t.Errorf("source %v reads %+v, %v", s, reading, ok)
		}
		if s.Settings() != "allowance=3 window=1h0m0s" {
			t.Errorf("settings %q", s.Settings())
		}
	}
	if !found || b.Name() != "payments" || b.String() != "retry budget payments (2 of 3 left)" {
		t.Errorf("found %v, %v", found, b)
	}
}
