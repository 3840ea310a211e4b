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
