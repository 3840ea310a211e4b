package resilience

import (
	"fmt"

	"github.com/telltale-go/telltale/events"
)

// AdaptiveLimiterConfig configures an [AdaptiveLimiter]. Its zero value, but for the name, starts at 20 calls at once and
// finds between 1 and 1000.
type AdaptiveLimiterConfig struct {
	// Name tells the limiter apart in telemetry, where it becomes a label. It is required.
	Name string
	// Initial is how many calls run at once until there is something to go by. Zero means 20, or what of Min and Max is
	// nearest to it.
	Initial int
	// Min is the lowest limit. Zero means 1.
	Min int
	// Max is the highest limit, at most a million. Zero means 1000, or what of Initial and Min is more.
	Max int
	// OverloadIf tells which failures say that the dependency turns calls away because it has too much to do. Nil means the
	// statuses 429 and 503 (of errors with a method HTTPStatusCode or StatusCode() int), and gRPC's RESOURCE_EXHAUSTED and
	// UNAVAILABLE (of errors with gRPC's GRPCStatus method). Timeouts always say that there is too much to do, and more than
	// a rejection does: it is not asked about them. It is asked about some of the calls, those that are measured, concurrently.
	OverloadIf func(error) bool
	// Bus is where the limiter is listed and its limits are published. Nil means events.Default().
	Bus *events.Bus
}

const (
	defaultInitial     = 20
	defaultMaxAdaptive = 1000
	mostAdaptive       = 1_000_000
)

func (cfg AdaptiveLimiterConfig) withDefaults() AdaptiveLimiterConfig {
	cfg.Min = or(cfg.Min, 1)
	cfg.Max = or(cfg.Max, max(defaultMaxAdaptive, cfg.Initial, cfg.Min))
	cfg.Initial = or(cfg.Initial, min(max(defaultInitial, cfg.Min), cfg.Max))
	cfg.Bus = or(cfg.Bus, events.Default())
	return cfg
}

func (cfg AdaptiveLimiterConfig) check() error {
	c := checks{typ: "AdaptiveLimiterConfig"}
	c.name("Name", cfg.Name, true)
	c.bus(cfg.Bus)
	for _, f := range []struct {
		name  string
		value int
		def   string
	}{{"Initial", cfg.Initial, "20"}, {"Min", cfg.Min, "1"}, {"Max", cfg.Max, "1000"}} {
		if f.value < 0 || f.value > mostAdaptive {
			c.refuse(f.name, f.value, "at least 1 and at most a million, or 0 for the default, "+f.def)
		}
	}
	switch set := cfg.withDefaults(); {
	case len(c.errors) > 0:
	case set.Min > set.Max:
		c.refuse("Min", cfg.Min, "at most Max")
	case set.Initial < set.Min || set.Initial > set.Max:
		c.refuse("Initial", cfg.Initial, "between Min and Max")
	}
	return c.err()
}

func (cfg AdaptiveLimiterConfig) settings() []Setting {
	return []Setting{{"initial", fmt.Sprint(cfg.Initial)}, {"min", fmt.Sprint(cfg.Min)}, {"max", fmt.Sprint(cfg.Max)}}
}
