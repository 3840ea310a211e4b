package promres

import (
	"strings"

	"github.com/telltale-go/telltale/internal/names"
)

// nameOf returns a metric's name in Prometheus, as the OpenTelemetry exporters for Prometheus make it: dots become
// underscores, the unit a suffix unless the name ends so, and a counter ends in _total. Units in braces are none.
func nameOf(m names.Metric) string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	switch m.Unit {
	case "s":
		name += "_seconds"
	case "1":
		name = strings.TrimSuffix(name, "_ratio") + "_ratio"
	}
	if m.Kind == names.Counter {
		name += "_total"
	}
	return name
}

// labelsOf returns the names of a metric's labels.
func labelsOf(m names.Metric) []string {
	labels := make([]string, len(m.Attributes))
	for i, key := range m.Attributes {
		labels[i] = strings.ReplaceAll(key, ".", "_")
	}
	return labels
}
