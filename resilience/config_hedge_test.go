package resilience_test

import (
	"math"
	"testing"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// PIPE-09
func TestHedgeRefusesBadOptions(t *testing.T) {
	type hedge = resilience.Hedge
	refuses(t, func(h hedge) error { return buildLayer(h) }, map[string]any{
		"Name": badNames(func(n string) hedge { return hedge{Name: n} }, false),
		"MaxAttempts": []bad[hedge]{
			{with: hedge{MaxAttempts: -1}, allowed: "at least 1"},
			{with: hedge{MaxAttempts: math.MinInt}, allowed: "at least 1"},
			{with: hedge{MaxAttempts: 101}, allowed: "at least 1 and at most 100, or 0"},
			{with: hedge{MaxAttempts: math.MaxInt}, allowed: "at most 100"},
		},
		"Delay":      []bad[hedge]{{with: hedge{Delay: -1}, allowed: "positive"}, {with: hedge{Delay: minNs}, allowed: "positive"}},
		"Learn":      []bad[hedge]{{with: hedge{Learn: new(resilience.LearnedDelay)}, value: "a zero LearnedDelay", allowed: "NewLearnedDelay"}},
		"If":         anyValue,
		"OnHedge":    anyValue,
		"Budget":     []bad[hedge]{{with: hedge{Budget: new(resilience.RetryBudget)}, value: "a zero RetryBudget", allowed: "NewRetryBudget"}},
		"WaitLosers": anyValue,
	})
}

// PIPE-09: a negative limit means off.
func TestTimeoutRefusesBadOptions(t *testing.T) {
	type timeout = resilience.Timeout
	refuses(t, func(l timeout) error { return buildLayer(l) }, map[string]any{
		"Name":    badNames(func(n string) timeout { return timeout{Name: n} }, false),
		"After":   anyValue,
		"Abandon": anyValue,
		"MaxAbandoned": []bad[timeout]{
			{with: timeout{Abandon: true, MaxAbandoned: -1}, allowed: "at least 1"},
			{with: timeout{Abandon: true, MaxAbandoned: math.MinInt}, allowed: "at least 1"},
			{with: timeout{MaxAbandoned: 1}, allowed: "where Abandon is not set"},
		},
	})
}

// PIPE-09
func TestLearnedDelayRefusesBadOptions(t *testing.T) {
	type config = resilience.LearnedDelayConfig
	build := func(c config) error {
		_, err := resilience.NewLearnedDelay(c)
		return err
	}
	refuses(t, build, map[string]any{
		"Quantile": []bad[config]{
			{with: config{Quantile: -0.1}, allowed: "below 1"},
			{with: config{Quantile: 1}, allowed: "below 1"},
			{with: config{Quantile: 95}, allowed: "below 1"},
			{with: config{Quantile: math.NaN()}, allowed: "below 1"},
			{with: config{Quantile: math.Inf(1)}, allowed: "below 1"},
			{with: config{Quantile: math.Inf(-1)}, allowed: "below 1"},
		},
		"Min": []bad[config]{
			{with: config{Min: -1}, allowed: "positive"},
			{with: config{Min: minNs}, allowed: "positive"},
			{with: config{Min: 2, Max: 1}, allowed: "at most Max"},
			{with: config{Min: time.Minute}, allowed: "at most Max, 10s"},
		},
		"Max":        []bad[config]{{with: config{Max: -1}, allowed: "positive"}, {with: config{Max: minNs}, allowed: "positive"}},
		"Window":     []bad[config]{{with: config{Window: -1}, allowed: "positive"}, {with: config{Window: minNs}, allowed: "positive"}},
		"MinSamples": []bad[config]{{with: config{MinSamples: -1}, allowed: "at least 1"}},
	})
}

// PIPE-09: the largest and the smallest values are fine.
func TestTheLargestValuesOfAHedgeAreAccepted(t *testing.T) {
	const large = time.Duration(math.MaxInt64)
	for _, cfg := range []resilience.LearnedDelayConfig{
		{Quantile: math.Nextafter(1, 0), Min: 1, Max: large, Window: large, MinSamples: math.MaxInt},
		{Quantile: math.SmallestNonzeroFloat64, Min: large, Max: large, Window: 1, MinSamples: 1},
		{Quantile: math.Nextafter(1, 0)},
	} {
		learn, err := resilience.NewLearnedDelay(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := resilience.Run(t.Context(), succeed, resilience.Hedge{MaxAttempts: 100, Delay: large, Learn: learn}); err != nil {
				t.Error(err)
			}
		}
		if d, ok := learn.Delay(); ok && d <= 0 {
			t.Errorf("%+v: learned %v", cfg, d)
		}
	}
	if err := resilience.Run(t.Context(), succeed, resilience.Timeout{After: large, Abandon: true, MaxAbandoned: math.MaxInt}); err != nil {
		t.Error(err)
	}
}
