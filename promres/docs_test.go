package promres

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// OTEL-04, PROM-04: docs/metrics.md lists the OpenTelemetry names; those of this package are their translation.
func TestTheDocumentedMetricsAreThose(t *testing.T) {
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[kind]string{counter: "counter", upDownCounter: "up-down counter", gauge: "gauge", histogram: "histogram"}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(resilience\\.[^`]+)` \\| ([^|]+) \\| ([^|]+) \\|.*\\|$").FindAllStringSubmatch(string(page), -1) {
		documented[row[1]] = row[2] + " by " + row[3]
	}
	for _, m := range table {
		want := kinds[m.kind]
		if m.unit != "" {
			want += ", `" + m.unit + "`"
		}
		want += " by `" + strings.Join(m.by, "` `") + "`"
		if got := documented[m.otel]; got != want {
			t.Errorf("%s is documented as %q, and is %q", m.otel, got, want)
		}
		delete(documented, m.otel)
	}
	for name := range documented {
		t.Errorf("docs/metrics.md has %s, which is not measured", name)
	}
}
