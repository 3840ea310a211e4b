package resilience_test

import (
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-09
func TestFallbackRefusesBadOptions(t *testing.T) {
	type fallback = resilience.Fallback[int]
	refuses(t, func(f fallback) error { return buildLayer(f) }, map[string]any{
		"Name": badNames(func(n string) fallback { return fallback{Name: n, To: answer7} }, false),
		"To":   []bad[fallback]{{with: fallback{}, allowed: "a function"}},
		"If":   anyValue,
	})
}

// PIPE-09
func TestSingleflightRefusesBadOptions(t *testing.T) {
	type config = resilience.SingleflightConfig
	refuses(t, func(c config) error { _, err := resilience.NewSingleflight(c); return err }, map[string]any{
		"Name": badNames(func(n string) config { return config{Name: n} }, false),
		"Key":  anyValue,
	})
}

// PIPE-06, PIPE-07, PIPE-25
func TestFallbacksAndSingleflightsThatDoNotFitAreRefused(t *testing.T) {
	flights := resilience.MustSingleflight(resilience.SingleflightConfig{})
	for _, c := range []struct {
		layers []resilience.Layer
		says   string
	}{
		{[]resilience.Layer{resilience.FallbackValue("text")},
			`pipeline "p": layer 0: fallback does not fit a pipeline of int: it is a resilience.Fallback[string]`},
		{[]resilience.Layer{&resilience.Fallback[string]{Name: "cache"}}, "layer 0: cache does not fit a pipeline of int: it is a *resilience.Fallback[string]"},
		{[]resilience.Layer{(*resilience.Fallback[int])(nil)}, "layer 0: is a nil *resilience.Fallback[int]"},
		{[]resilience.Layer{(*resilience.Fallback[string])(nil)}, "layer 0: is a nil *resilience.Fallback[string]"},
		{[]resilience.Layer{struct{ resilience.Fallback[int] }{resilience.FallbackValue(1)}}, "is neither a layer of this package"},
		{[]resilience.Layer{&resilience.Fallback[int]{}}, "Fallback.To = <nil>: must be a function"},
		{[]resilience.Layer{(*resilience.Singleflight)(nil)}, "layer 0: is a nil *resilience.Singleflight"},
		{[]resilience.Layer{&resilience.Singleflight{}}, "layer 0: is a *resilience.Singleflight that was not made by NewSingleflight"},
		{[]resilience.Layer{struct{ *resilience.Singleflight }{flights}}, "is neither a layer of this package"},
		{[]resilience.Layer{flights, resilience.Retry{}, flights}, "layer 2 (singleflight) is the same *resilience.Singleflight as layer 0"},
	} {
		_, err := resilience.NewPipeline(resilience.PipelineConfig[int]{Name: "p", Layers: c.layers, Bus: events.Off()})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("got %v, want %q in it", err, c.says)
		}
	}
	if _, err := resilience.Do(t.Context(), one, flights); err == nil || !strings.Contains(err.Error(), "build a Pipeline") {
		t.Errorf("one-off: %v", err)
	}
}

// PIPE-18
func TestFallbacksAndSingleflightsDescribeThemselves(t *testing.T) {
	p := ints(events.Off(), resilience.MustSingleflight(resilience.SingleflightConfig{}), resilience.FallbackValue(7),
		resilience.Fallback[int]{Name: "cache", To: answer7, If: resilience.IsTransient})
	if got := p.String(); got != "pipeline ints [singleflight > fallback > cache]" {
		t.Error(got)
	}
	var settings []string
	for _, l := range p.Describe().Layers {
		settings = append(settings, l.Type+" "+l.Settings[0].Name+"="+l.Settings[0].Value)
	}
	if got := strings.Join(settings, ", "); got != "singleflight key=call, fallback handles=every failure, fallback handles=selected failures" {
		t.Error(got)
	}
}
