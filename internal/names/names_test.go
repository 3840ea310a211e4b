package names

import "testing"

// OTEL-04
func TestDescriptionsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range All() {
		if m.Name == "" || m.Kind == "" || m.Doc == "" || len(m.Attributes) == 0 || seen[m.Name] {
			t.Errorf("incomplete, or twice: %+v", m)
		}
		if (m.Kind == Histogram) != (m.Bounds != nil) {
			t.Errorf("%s: kind and bounds do not fit", m.Name)
		}
		seen[m.Name] = true
	}
}
