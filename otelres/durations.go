package otelres

import "fmt"

// Durations says which durations are measured, as histograms. The zero value stands for DurationsAll.
type Durations uint8

const (
	// DurationsAll: those of executions, and of attempts where a second one is possible.
	DurationsAll Durations = 1 + iota
	// DurationsExecutions: those of executions alone.
	DurationsExecutions
	// DurationsNone: none.
	DurationsNone
)

func (d Durations) ofExecutions() bool { return d != DurationsNone }
func (d Durations) ofAttempts() bool   { return d == 0 || d == DurationsAll }

// String returns the name: all, executions or none.
func (d Durations) String() string {
	switch d {
	case 0, DurationsAll:
		return "all"
	case DurationsExecutions:
		return "executions"
	case DurationsNone:
		return "none"
	}
	return fmt.Sprintf("Durations(%d)", uint8(d))
}

// MarshalText implements encoding.TextMarshaler.
func (d Durations) MarshalText() ([]byte, error) {
	if d > DurationsNone {
		return nil, fmt.Errorf("otelres: %s is not one of all, executions, none", d)
	}
	return []byte(d.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Durations) UnmarshalText(text []byte) error {
	for _, v := range []Durations{DurationsAll, DurationsExecutions, DurationsNone} {
		if v.String() == string(text) {
			*d = v
			return nil
		}
	}
	return fmt.Errorf("otelres: Durations %q is not one of all, executions, none", text)
}
