package otelres

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// OTEL-04: docs/metrics.md is what users read; it lists just what is measured.
func TestTheDocumentedMetricsAreThose(t *testing.T) {
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| `resilience.") && strings.Count(line, "|") == 5 {
			documented[strings.TrimSpace(line)] = true
		}
	}
	for _, m := range metrics {
		row := documentedRow(m)
		if !documented[row] {
			t.Errorf("docs/metrics.md has not the row\n%s", row)
		}
		delete(documented, row)
	}
	for row := range documented {
		t.Errorf("docs/metrics.md has a row that names.go has not:\n%s", row)
	}
}

func documentedRow(m Metric) string {
	unit := ""
	if m.Unit != "" {
		unit = ", `" + m.Unit + "`"
	}
	by := make([]string, len(m.Attributes))
	for i, a := range m.Attributes {
		by[i] = "`" + a + "`"
	}
	return fmt.Sprintf("| `%s` | %s%s | %s | %s |", m.Name, m.Kind, unit, strings.Join(by, " "), m.Doc)
}
