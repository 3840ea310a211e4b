package promres

import (
	"slices"
	"testing"

	"github.com/prometheus/otlptranslator"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/names"
)

// PROM-04: the names are what the OpenTelemetry exporters for Prometheus make of the OpenTelemetry names.
func TestNamesAreTheTranslationOfOpenTelemetrys(t *testing.T) {
	metrics := otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)
	labels := otlptranslator.LabelNamer{}
	types := map[names.Kind]otlptranslator.MetricType{
		names.Counter: otlptranslator.MetricTypeMonotonicCounter, names.UpDownCounter: otlptranslator.MetricTypeNonMonotonicCounter,
		names.Gauge: otlptranslator.MetricTypeGauge, names.Histogram: otlptranslator.MetricTypeHistogram,
	}
	for _, m := range names.All() {
		want, err := metrics.Build(otlptranslator.Metric{Name: m.Name, Unit: m.Unit, Type: types[m.Kind]})
		if got := nameOf(m); err != nil || got != want {
			t.Errorf("%s is called %s, want %s, %v", m.Name, got, want, err)
		}
		for i, key := range m.Attributes {
			want, err := labels.Build(key)
			if got := labelsOf(m)[i]; err != nil || got != want {
				t.Errorf("%s: the label of %s is %s, want %s, %v", m.Name, key, got, want, err)
			}
		}
	}
}

// BUS-13
func TestEveryKindOfEventIsHandledOrSkippedByName(t *testing.T) {
	known := map[string]bool{}
	for _, k := range events.Catalogue() {
		known[k.Name] = true
		is := slices.ContainsFunc(handled, func(h handler) bool { return h.event == k.Name })
		_, isNot := skipped[k.Name]
		switch {
		case is && isNot:
			t.Errorf("%s is both handled and skipped (handlers.go)", k.Name)
		case !is && !isNot:
			t.Errorf("%s is neither handled nor skipped: give it a metric in internal/names and a handler in handlers.go, or add it to skipped there", k.Name)
		}
	}
	for _, h := range handled {
		if !known[h.event] {
			t.Errorf("%s is handled, but not in events.Catalogue", h.event)
		}
	}
	for name := range skipped {
		if !known[name] {
			t.Errorf("%s is skipped, but not in events.Catalogue", name)
		}
	}
}
