package resilience_test

import (
	"cmp"
	"math"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-09
func TestRetryRefusesBadOptions(t *testing.T) {
	type retry = resilience.Retry
	backoff := func(b resilience.Backoff, field string, value any, allowed string) bad[retry] {
		return bad[retry]{with: retry{Backoff: b}, field: field, value: value, allowed: allowed}
	}
	refuses(t, func(r retry) error { return buildLayer(r) }, map[string]any{
		"Name": badNames(func(n string) retry { return retry{Name: n} }, false),
		"MaxAttempts": []bad[retry]{
			{with: retry{MaxAttempts: -2}, allowed: "at least 1"},
			{with: retry{MaxAttempts: math.MinInt}, allowed: "at least 1"},
			{with: retry{MaxAttempts: math.MaxInt32 + 1}, allowed: "at least 1 and at most 2147483647, Unlimited"},
			{with: retry{MaxAttempts: math.MaxInt}, allowed: "at most 2147483647"},
		},
		"Backoff": []bad[retry]{
			backoff(resilience.Exponential{Base: -1}, "Backoff.Base", time.Duration(-1), "positive"),
			backoff(resilience.Exponential{Base: minNs}, "Backoff.Base", minNs, "positive"),
			backoff(resilience.Exponential{Factor: -2}, "Backoff.Factor", -2.0, "at least 1"),
			backoff(resilience.Exponential{Factor: 0.5}, "Backoff.Factor", 0.5, "at least 1"),
			backoff(resilience.Exponential{Factor: math.NaN()}, "Backoff.Factor", math.NaN(), "finite"),
			backoff(resilience.Exponential{Factor: math.Inf(1)}, "Backoff.Factor", math.Inf(1), "finite"),
			backoff(resilience.Exponential{Factor: math.Inf(-1)}, "Backoff.Factor", math.Inf(-1), "finite"),
			backoff(resilience.Linear{Step: -1}, "Backoff.Step", time.Duration(-1), "positive"),
			backoff(resilience.Constant(-1), "Backoff", time.Duration(-1), "positive"),
			backoff(&resilience.Linear{Step: -1}, "Backoff.Step", time.Duration(-1), "positive"),
			backoff((*resilience.Exponential)(nil), "Backoff", (*resilience.Exponential)(nil), "left out"),
			backoff(resilience.BackoffFunc(nil), "Backoff", resilience.BackoffFunc(nil), "a function"),
		},
		"Jitter": []bad[retry]{
			{with: retry{Jitter: resilience.JitterDecorrelated + 1}, value: uint8(5), allowed: "Jitter constants"},
			{with: retry{Jitter: 255}, value: uint8(255), allowed: "Jitter constants"},
			{with: retry{Jitter: resilience.JitterDecorrelated, Backoff: resilience.NoDelay}, allowed: "NoDelay"},
		},
		"MaxDelay":        []bad[retry]{{with: retry{MaxDelay: -1}, allowed: "positive"}, {with: retry{MaxDelay: minNs}, allowed: "positive"}},
		"Delay":           anyValue,
		"If":              anyValue,
		"OnRetry":         anyValue,
		"RetryRejections": anyValue,
		"StopOnLongHint":  anyValue,
		"IgnoreDeadline":  anyValue,
		"Budget":          []bad[retry]{{with: retry{Budget: new(resilience.RetryBudget)}, value: "a zero RetryBudget", allowed: "made by NewRetryBudget"}},
		"Rand":            anyValue,
	})
}

// PIPE-09, PIPE-23: a budget has a name, and one mode.
func TestRetryBudgetRefusesBadOptions(t *testing.T) {
	type config = resilience.RetryBudgetConfig
	build := func(c config) error {
		c.Bus = cmp.Or(c.Bus, events.Off())
		_, err := resilience.NewRetryBudget(c)
		return err
	}
	// row makes a configuration that is sound but for what set does.
	row := func(allowed string, set func(*config)) bad[config] {
		c := config{Name: "b"}
		set(&c)
		return bad[config]{with: c, allowed: allowed}
	}
	tooLarge := math.MaxInt32 + 1
	refuses(t, build, map[string]any{
		"Name": badNames(func(n string) config { return config{Name: n} }, true),
		"Tokens": []bad[config]{
			row("at least 1", func(c *config) { c.Tokens = -1 }),
			row("at least 1", func(c *config) { c.Tokens = math.MinInt }),
			row("at most 2147483647", func(c *config) { c.Tokens = tooLarge }),
			row("0 where Allowance", func(c *config) { c.Allowance, c.Tokens = 1, 1 }),
		},
		"Ratio": []bad[config]{
			row("at least 0.001", func(c *config) { c.Ratio = 0.00099 }),
			row("at least 0.001", func(c *config) { c.Ratio = -0.1 }),
			row("finite", func(c *config) { c.Ratio = math.Inf(1) }),
			row("finite", func(c *config) { c.Ratio = math.Inf(-1) }),
			row("finite", func(c *config) { c.Ratio = math.NaN() }),
			row("0 where Allowance", func(c *config) { c.Allowance, c.Ratio = 1, 0.1 }),
			row("0 where Allowance", func(c *config) { c.Allowance, c.Ratio = 1, math.NaN() }),
		},
		"Allowance": []bad[config]{
			row("at least 1", func(c *config) { c.Allowance = -1 }),
			row("at least 1", func(c *config) { c.Allowance = math.MinInt }),
			row("at most 2147483647", func(c *config) { c.Allowance = tooLarge }),
		},
		"Window": []bad[config]{
			row("positive", func(c *config) { c.Allowance, c.Window = 1, -1 }),
			row("positive", func(c *config) { c.Allowance, c.Window = 1, minNs }),
			row("0 where Allowance is not set", func(c *config) { c.Window = time.Second }),
			row("0 where Allowance is not set", func(c *config) { c.Tokens, c.Window = 10, time.Second }),
		},
		"Bus": zeroBus(config{Name: "b", Bus: new(events.Bus)}),
	})
	defer func() {
		if e, ok := recover().(error); !ok || len(configErrors(e)) == 0 {
			t.Errorf("MustRetryBudget panicked with %v, want what NewRetryBudget returns", e)
		}
	}()
	resilience.MustRetryBudget(resilience.RetryBudgetConfig{})
}

// PIPE-09: the largest and the smallest are fine; nothing overflows.
func TestTheExtremesOfARetryBudgetAreAccepted(t *testing.T) {
	for _, c := range []struct {
		with resilience.RetryBudgetConfig
		want events.BudgetReading
	}{
		{resilience.RetryBudgetConfig{}, events.BudgetReading{Available: 50, Limit: 50}},
		{resilience.RetryBudgetConfig{Tokens: 1, Ratio: 0.001}, events.BudgetReading{Available: 1, Limit: 1}},
		{resilience.RetryBudgetConfig{Tokens: 3}, events.BudgetReading{Available: 2, Limit: 2}},
		{resilience.RetryBudgetConfig{Tokens: math.MaxInt32, Ratio: math.MaxFloat64}, events.BudgetReading{Available: 1 << 30, Limit: 1 << 30}},
		{resilience.RetryBudgetConfig{Allowance: 7}, events.BudgetReading{Available: 7, Limit: 7}},
		{resilience.RetryBudgetConfig{Allowance: math.MaxInt32, Window: math.MaxInt64}, events.BudgetReading{Available: math.MaxInt32, Limit: math.MaxInt32}},
		{resilience.RetryBudgetConfig{Allowance: math.MaxInt32, Window: 1}, events.BudgetReading{Available: math.MaxInt32, Limit: math.MaxInt32}},
	} {
		c.with.Name, c.with.Bus = "b", events.Off()
		b := resilience.MustRetryBudget(c.with)
		if got := b.Snapshot(); got != c.want || b.Available() != int(c.want.Available) {
			t.Errorf("%+v: %+v, want %+v", c.with, got, c.want)
		}
		_ = resilience.Run(t.Context(), fail, resilience.Retry{Backoff: resilience.NoDelay, Budget: b})
	}
}
