package otelres

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The golden files, and the table of docs/metrics.md, are made by: go test ./otelres -run Golden -update
var update = flag.Bool("update", false, "write the golden files and the table of docs/metrics.md anew")

// OTEL-04: docs/metrics.md is what users read; it lists just what is measured.
func TestGoldenDocumentedMetrics(t *testing.T) {
	const page, begin, end = "../docs/metrics.md", "<!-- made: metrics -->\n", "<!-- end: metrics -->"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has not the marks %q and %q", page, begin, end)
	}
	is := head + begin + documentedMetrics() + end + tail
	if *update {
		if err := os.WriteFile(page, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if is != string(b) {
		t.Errorf("%s is not current: go test ./otelres -run Golden -update", page)
	}
}

func documentedMetrics() string {
	var b strings.Builder
	b.WriteString("| OpenTelemetry | kind, unit | by | what |\n|---|---|---|---|\n")
	for _, m := range Metrics() {
		unit := ""
		if m.Unit != "" {
			unit = ", `" + m.Unit + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s%s | `%s` | %s |\n", m.Name, m.Kind, unit, strings.Join(m.Attributes, "` `"), m.Doc)
	}
	return b.String()
}
