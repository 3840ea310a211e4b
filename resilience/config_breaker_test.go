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
func TestBreakerRefusesBadOptions(t *testing.T) {
	type config = resilience.BreakerConfig
	build := func(c config) error {
		c.Bus = cmp.Or(c.Bus, events.Off())
		_, err := resilience.NewBreaker(c)
		return err
	}
	// with makes a configuration that is sound but for what set does.
	row := func(allowed string, set func(*config)) bad[config] {
		c := config{Name: "b"}
		set(&c)
		return bad[config]{with: c, allowed: allowed}
	}
	refuses(t, build, map[string]any{
		"Name": badNames(func(n string) config { return config{Name: n} }, true),
		"ConsecutiveFailures": []bad[config]{
			row("at least 1", func(c *config) { c.ConsecutiveFailures = -1 }),
			row("at least 1", func(c *config) { c.ConsecutiveFailures = math.MinInt }),
		},
		"FailureRatio": []bad[config]{
			row("at most 1", func(c *config) { c.FailureRatio = -0.1 }),
			row("at most 1", func(c *config) { c.FailureRatio = 1.01 }),
			row("at most 1", func(c *config) { c.FailureRatio = 50 }),
			row("at most 1", func(c *config) { c.FailureRatio = math.NaN() }),
			row("at most 1", func(c *config) { c.FailureRatio = math.Inf(1) }),
			row("at most 1", func(c *config) { c.FailureRatio = math.Inf(-1) }),
		},
		"MinCalls": []bad[config]{
			row("at least 1", func(c *config) { c.FailureRatio, c.MinCalls = 0.5, -1 }),
			row("0 where FailureRatio", func(c *config) { c.MinCalls = 10 }),
			row("at most WindowCalls", func(c *config) { c.FailureRatio, c.WindowCalls, c.MinCalls = 0.5, 10, 11 }),
		},
		"Window": []bad[config]{
			row("positive", func(c *config) { c.FailureRatio, c.Window = 0.5, -1 }),
			row("positive", func(c *config) { c.FailureRatio, c.Window = 0.5, minNs }),
			row("at least 10ns", func(c *config) { c.FailureRatio, c.Window = 0.5, 9 }),
			row("0 where FailureRatio", func(c *config) { c.Window = time.Second }),
			row("0 where WindowCalls", func(c *config) { c.FailureRatio, c.WindowCalls, c.Window = 0.5, 10, time.Second }),
		},
		"WindowCalls": []bad[config]{
			row("at least 1", func(c *config) { c.FailureRatio, c.WindowCalls = 0.5, -1 }),
			row("at least 1", func(c *config) { c.SlowCall, c.WindowCalls = time.Second, math.MinInt }),
			row("at most 100000", func(c *config) { c.FailureRatio, c.WindowCalls = 0.5, 100_001 }),
			row("at most 100000", func(c *config) { c.SlowRatio, c.WindowCalls = 0.5, math.MaxInt }),
			row("0 where FailureRatio", func(c *config) { c.WindowCalls = 10 }),
			row("0 where FailureRatio", func(c *config) { c.ConsecutiveFailures, c.WindowCalls = 3, 10 }),
		},
		"SlowCall": []bad[config]{
			row("positive", func(c *config) { c.SlowCall = -1 }),
			row("positive", func(c *config) { c.SlowCall = minNs }),
		},
		"SlowRatio": []bad[config]{
			row("at most 1", func(c *config) { c.SlowRatio = -0.1 }),
			row("at most 1", func(c *config) { c.SlowRatio = 50 }),
			row("at most 1", func(c *config) { c.SlowRatio = math.NaN() }),
			row("at most 1", func(c *config) { c.SlowRatio = math.Inf(1) }),
			row("at most 1", func(c *config) { c.SlowRatio = math.Inf(-1) }),
		},
		"CountDeadlines": anyValue,
		"Shadow":         anyValue,
		"Cooldown":       []bad[config]{row("positive", func(c *config) { c.Cooldown = -1 }), row("positive", func(c *config) { c.Cooldown = minNs })},
		"CooldownFunc":   anyValue,
		"Probes":         []bad[config]{row("at least 1", func(c *config) { c.Probes = -1 })},
		"ProbeSuccesses": []bad[config]{row("at least 1", func(c *config) { c.ProbeSuccesses = -1 })},
		"MaxProbeTime":   anyValue, // negative: never
		"FailureIf":      anyValue,
		"Bus":            zeroBus(config{Name: "b", Bus: new(events.Bus)}),
	})
}
