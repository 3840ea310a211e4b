package events

import (
	"fmt"
	"strings"
)

// enumName returns the name of an enum value whose names start at 1.
func enumName[E ~uint8](kind string, names []string, v E) string {
	if int(v) < len(names) && v > 0 {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", kind, uint8(v))
}

// enumText is enumName for marshalling: a value outside the enum is an error.
func enumText[E ~uint8](kind string, names []string, v E) ([]byte, error) {
	if int(v) < len(names) && v > 0 {
		return []byte(names[v]), nil
	}
	return nil, fmt.Errorf("events: %s(%d) is not one of %s", kind, uint8(v), strings.Join(names[1:], ", "))
}

// enumParse reads a name back.
func enumParse[E ~uint8](kind string, names []string, v *E, text []byte) error {
	for i, n := range names[1:] {
		if n == string(text) {
			*v = E(i + 1)
			return nil
		}
	}
	return fmt.Errorf("events: %s %q is not one of %s", kind, text, strings.Join(names[1:], ", "))
}

// enumAll lists the values of an enum whose names start at 1.
func enumAll[E ~uint8](names []string) []E {
	all := make([]E, 0, len(names)-1)
	for i := range names[1:] {
		all = append(all, E(i+1))
	}
	return all
}
