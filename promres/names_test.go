package promres

import (
	"slices"
	"testing"

	"github.com/prometheus/otlptranslator"

	"github.com/telltale-go/telltale/events"
)

// PROM-04: the names are what the OpenTelemetry exporters for Prometheus make of the OpenTelemetry names.
func TestNamesAreTheTranslationOfOpenTelemetrys(t *testing.T) {
	names := otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)
	labels := otlptranslator.LabelNamer{}
	types := map[kind]otlptranslator.MetricType{
		counter: otlptranslator.MetricTypeMonotonicCounter, upDownCounter: otlptranslator.MetricTypeNonMonotonicCounter,
		gauge: otlptranslator.MetricTypeGauge, histogram: otlptranslator.MetricTypeHistogram,
	}
	for _, m := range table {
		want, err := names.Build(otlptranslator.Metric{Name: m.otel, Unit: m.unit, Type: types[m.kind]})
		if err != nil || m.name != want {
			t.Errorf("%s is called %s, want %s, %v", m.otel, m.name, want, err)
		}
		for i, key := range m.by {
			want, err := labels.Build(key)
			if got := m.labels()[i]; err != nil || got != want {
				t.Errorf("%s: the label of %s is %s, want %s, %v", m.otel, key, got, want, err)
			}
		}
	}
}

func TestDescriptionsAreComplete(t *testing.T) {
	for _, m := range table {
		if m.name == "" || m.otel == "" || m.help == "" || m.kind == 0 || len(m.by) == 0 {
			t.Errorf("incomplete: %+v", m)
		}
		if (m.kind == histogram) != (m.bounds != nil) {
			t.Errorf("%s: kind and bounds do not fit", m.name)
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
			t.Errorf("%s is neither handled nor skipped: give it a metric in names.go and a handler in handlers.go, or add it to skipped there", k.Name)
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
