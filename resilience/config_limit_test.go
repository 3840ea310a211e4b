package resilience_test

import (
	"cmp"
	"math"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-09
func TestAdaptiveLimiterRefusesBadOptions(t *testing.T) {
	type config = resilience.AdaptiveLimiterConfig
	build := func(c config) error {
		c.Bus = cmp.Or(c.Bus, events.Off())
		_, err := resilience.NewAdaptiveLimiter(c)
		return err
	}
	refuses(t, build, map[string]any{
		"Name": badNames(func(n string) config { return config{Name: n} }, true),
		"Initial": []bad[config]{
			{with: config{Name: "a", Initial: -1}, allowed: "at least 1"},
			{with: config{Name: "a", Initial: math.MinInt}, allowed: "at least 1"},
			{with: config{Name: "a", Initial: 1_000_001}, allowed: "a million"},
			{with: config{Name: "a", Initial: 5, Min: 6}, allowed: "between Min and Max"},
			{with: config{Name: "a", Initial: 7, Max: 6}, allowed: "between Min and Max"},
		},
		"Min": []bad[config]{
			{with: config{Name: "a", Min: -1}, allowed: "at least 1"},
			{with: config{Name: "a", Min: math.MaxInt}, allowed: "a million"},
			{with: config{Name: "a", Min: 10, Max: 9}, allowed: "at most Max"},
		},
		"Max": []bad[config]{
			{with: config{Name: "a", Max: -1}, allowed: "at least 1"},
			{with: config{Name: "a", Max: 1_000_001}, allowed: "a million"},
		},
		"OverloadIf": anyValue,
		"Bus":        zeroBus(config{Name: "a", Bus: new(events.Bus)}),
	})
	for _, c := range []config{{}, {Max: 5}, {Min: 30}, {Min: 2000}, {Initial: 5000}, {Initial: 1_000_000, Min: 1_000_000, Max: 1_000_000}} {
		if c.Name = "a"; build(c) != nil {
			t.Errorf("%+v: %v", c, build(c))
		}
	}
}
