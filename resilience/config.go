package resilience

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/telltale-go/telltale/events"
)

// ConfigError tells which option was wrong, and what is allowed. It is found with errors.As in what a constructor
// returns; several wrong options are joined.
type ConfigError struct {
	Type    string // the layer's or configuration's type, such as "Retry"
	Field   string
	Value   any
	Allowed string
}

func (e *ConfigError) Error() string {
	format := "resilience.%s.%s = %v: must be %s"
	if strings.Contains(e.Type, ".") { // another package's
		format = "%s.%s = %v: must be %s"
	}
	if _, text := e.Value.(string); text {
		format = strings.Replace(format, "%v", "%.40q", 1)
	}
	return fmt.Sprintf(format, e.Type, e.Field, e.Value, e.Allowed)
}

// checks collects what is wrong with a configuration.
type checks struct {
	typ    string
	errors []error
}

func (c *checks) refuse(field string, value any, allowed string) {
	c.errors = append(c.errors, &ConfigError{c.typ, field, value, allowed})
}

func (c *checks) err() error { return errors.Join(c.errors...) }

// name refuses a name that is missing or could not be a label.
func (c *checks) name(field, name string, required bool) {
	switch {
	case name == "" && required:
		c.refuse(field, name, "set: it tells this one apart in telemetry")
	case len(name) > maxName:
		c.refuse(field, name, fmt.Sprintf("at most %d bytes", maxName))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		c.refuse(field, name, "printable UTF-8")
	}
}

const maxName = 200

func (c *checks) atLeast(field string, value, least int, allowed string) {
	if value < least {
		c.refuse(field, value, allowed)
	}
}

func (c *checks) notNegative(field string, d time.Duration, def time.Duration) {
	if d < 0 {
		c.refuse(field, d, fmt.Sprintf("positive, or 0 for the default, %v", def))
	}
}

func (c *checks) ratio(field string, v float64) {
	if math.IsNaN(v) || v < 0 || v > 1 {
		c.refuse(field, v, "above 0 and at most 1, or 0 for not used")
	}
}

// bus refuses one that nobody could listen to.
func (c *checks) bus(bus *events.Bus) {
	if bus != nil && !bus.Ready() {
		c.refuse("Bus", "a zero events.Bus", "made by events.NewBus, or nil for events.Default")
	}
}

// or returns v, or the default where v is the zero value.
func or[V comparable](v, def V) V {
	var zero V
	if v == zero {
		return def
	}
	return v
}

// mustBe is the regexp idiom: MustX panics with what NewX returns.
func mustBe[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
