package console

import (
	"errors"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// Config bounds what a [Console] keeps and serves. Its zero value is ready.
type Config struct {
	// MaxViewers is how many pages may be open at once; one more is told to come back later (503). Zero means 8, the
	// most is 1000.
	MaxViewers int
	// Events is how many of the last events are kept: that many of severity info or higher, and as many of severity
	// debug, so that calls which go well do not push out what does not. Zero means 250, the most is 10000.
	Events int
	// History is how far back the timeline of a breaker's states reaches. A breaker's takes 240 bytes, so a longer one
	// is a coarser one: a state is shown for at least History/240. Zero means 5 minutes; otherwise 1 minute to 24 hours.
	History time.Duration
}

const (
	defaultViewers = 8
	mostViewers    = 1000
	defaultEvents  = 250
	mostEvents     = 10000
	defaultHistory = 5 * time.Minute
	leastHistory   = time.Minute
	mostHistory    = 24 * time.Hour
)

func (c Config) withDefaults() Config {
	if c.MaxViewers == 0 {
		c.MaxViewers = defaultViewers
	}
	if c.Events == 0 {
		c.Events = defaultEvents
	}
	if c.History == 0 {
		c.History = defaultHistory
	}
	return c
}

func (c Config) check() error {
	var all []error
	refuse := func(field string, value any, allowed string) {
		all = append(all, &resilience.ConfigError{Type: "console.Config", Field: field, Value: value, Allowed: allowed})
	}
	if c.MaxViewers < 0 || c.MaxViewers > mostViewers {
		refuse("MaxViewers", c.MaxViewers, "1 to 1000, or 0 for the default, 8")
	}
	if c.Events < 0 || c.Events > mostEvents {
		refuse("Events", c.Events, "1 to 10000, or 0 for the default, 250")
	}
	if c.History != 0 && (c.History < leastHistory || c.History > mostHistory) {
		refuse("History", c.History, "1m to 24h, or 0 for the default, 5m")
	}
	return errors.Join(all...)
}
