package promres

import "fmt"

// Durations tells which durations have histograms, which make up most of a pipeline's series. The zero value stands for
// DurationsAll.
type Durations uint8

const (
	// DurationsAll: those of executions, and those of attempts in pipelines whose calls may take several.
	DurationsAll Durations = 1 + iota
	// DurationsExecutions: those of executions.
	DurationsExecutions
	// DurationsNone: none. The counters, and how many attempts calls took, stay.
	DurationsNone
)

var durationsNames = []string{"all", "all", "executions", "none"}

// String returns the name: all, executions or none.
func (d Durations) String() string {
	if int(d) >= len(durationsNames) {
		return fmt.Sprintf("Durations(%d)", uint8(d))
	}
	return durationsNames[d]
}

// MarshalText implements encoding.TextMarshaler.
func (d Durations) MarshalText() ([]byte, error) {
	if int(d) >= len(durationsNames) {
		return nil, fmt.Errorf("promres: %s is not one of all, executions, none", d)
	}
	return []byte(durationsNames[d]), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Durations) UnmarshalText(text []byte) error {
	for i, name := range durationsNames[1:] {
		if name == string(text) {
			*d = Durations(i + 1)
			return nil
		}
	}
	return fmt.Errorf("promres: Durations %q is not one of all, executions, none", text)
}
