package resilience_test

import (
	"cmp"
	"math"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-09
func TestKeyedRefusesBadOptions(t *testing.T) {
	type config = resilience.KeyedConfig
	build := func(c config) error {
		c.Bus = cmp.Or(c.Bus, events.Off())
		_, err := resilience.NewKeyed(c)
		return err
	}
	refuses(t, build, map[string]any{
		"Name": badNames(func(n string) config { return config{Name: n, New: roomEach} }, true),
		"New":  []bad[config]{{with: config{Name: "k"}, value: nil, allowed: "a function"}},
		"Key":  anyValue,
		"MaxKeys": []bad[config]{
			{with: config{Name: "k", New: roomEach, MaxKeys: -1}, allowed: "at least 1"},
			{with: config{Name: "k", New: roomEach, MaxKeys: math.MinInt}, allowed: "at least 1"},
			{with: config{Name: "k", New: roomEach, MaxKeys: math.MaxInt}, allowed: "at most"},
		},
		"IdleAfter": anyValue, // negative: never
		"Bus":       zeroBus(config{Name: "k", New: roomEach, Bus: new(events.Bus)}),
	})
}

// PIPE-09
func TestChaosRefusesBadOptions(t *testing.T) {
	type config = resilience.ChaosConfig
	build := func(c config) error {
		c.Bus = cmp.Or(c.Bus, events.Off())
		_, err := resilience.NewChaos(c)
		return err
	}
	row := func(allowed string, set func(*config)) bad[config] {
		c := config{Name: "c", Rate: 1, Err: errBoom}
		set(&c)
		return bad[config]{with: c, allowed: allowed}
	}
	refuses(t, build, map[string]any{
		"Name": badNames(func(n string) config { return config{Name: n, Rate: 1, Err: errBoom} }, true),
		"Rate": []bad[config]{
			row("above 0", func(c *config) { c.Rate = 0 }),
			row("above 0", func(c *config) { c.Rate = -0.1 }),
			row("at most 1", func(c *config) { c.Rate = 1.01 }),
			row("at most 1", func(c *config) { c.Rate = math.NaN() }),
			row("at most 1", func(c *config) { c.Rate = math.Inf(1) }),
			row("at most 1", func(c *config) { c.Rate = math.Inf(-1) }),
		},
		"Latency": []bad[config]{row("positive", func(c *config) { c.Latency = -1 }), row("positive", func(c *config) { c.Latency = minNs })},
		"MaxLatency": []bad[config]{
			row("at least Latency", func(c *config) { c.MaxLatency = -1 }),
			row("at least Latency", func(c *config) { c.Latency, c.MaxLatency = 2, 1 }),
		},
		"Err":     []bad[config]{{with: config{Name: "c", Rate: 1}, value: nil, field: "Err", allowed: "which fault"}},
		"Value":   []bad[config]{row("Err is set", func(c *config) { c.Value = 1 })},
		"Panic":   []bad[config]{row("Err or Value", func(c *config) { c.Panic = "no" }), row("Err or Value", func(c *config) { c.Err, c.Value, c.Panic = nil, 1, "no" })},
		"Keys":    anyValue,
		"If":      anyValue,
		"Seed":    anyValue,
		"Enabled": anyValue,
		"Bus":     zeroBus(config{Name: "c", Rate: 1, Err: errBoom, Bus: new(events.Bus)}),
	})
}

func TestMustPanicsWithWhatNewReturnsOfKeyedAndChaos(t *testing.T) {
	for _, must := range []func(){
		func() { resilience.MustKeyed(resilience.KeyedConfig{Name: "k"}) },
		func() { resilience.MustChaos(resilience.ChaosConfig{Name: "c", Err: errBoom}) },
	} {
		panicked, _ := survive(must)
		if err, ok := panicked.(error); !ok || len(configErrors(err)) != 1 {
			t.Errorf("panics with %v, want a *ConfigError", panicked)
		}
	}
}
