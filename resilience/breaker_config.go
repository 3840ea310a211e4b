package resilience

import (
	"fmt"
	"time"

	"github.com/telltale-go/telltale/events"
)

// BreakerConfig configures a [Breaker]. Its zero value, but for the name, opens after 5 failures in a row, for 30 s,
// and then lets one probe through.
type BreakerConfig struct {
	// Name tells the breaker apart in telemetry, where it becomes a label. It is required.
	Name string
	// ConsecutiveFailures in a row open the breaker; a success starts the count anew. Zero means 5 if FailureRatio is not
	// set, else not used.
	ConsecutiveFailures int
	// FailureRatio opens the breaker when at least MinCalls ended within Window and this share of them failed,
	// above 0 and at most 1. Zero means not used; MinCalls and Window are refused without it.
	FailureRatio float64
	// MinCalls is for FailureRatio. Zero means 20.
	MinCalls int
	// Window is for FailureRatio, at least 10 ns; it forgets in tenths. Zero means 30 s.
	Window time.Duration
	// Cooldown is how long the breaker stays open before it lets probes through. Zero means 30 s.
	Cooldown time.Duration
	// CooldownFunc makes the cooldown grow: it is given how many times the breaker has opened since it was last closed,
	// from 1 on. A result that is not positive means Cooldown. It is called ahead, when the breaker is made and after
	// each opening for the one that may follow, without any lock held.
	CooldownFunc func(openings int) time.Duration
	// Probes is how many calls at a time a half-open breaker lets through. Zero means 1.
	Probes int
	// ProbeSuccesses close a half-open breaker; one failure opens it again. Zero means Probes.
	ProbeSuccesses int
	// MaxProbeTime is after how long a probe that has not ended is given up and counts as a failure. It is noticed
	// at the next call, or when a probe ends. Zero means 1 min; negative means never.
	MaxProbeTime time.Duration
	// FailureIf tells which errors count as failures; the others count neither way. Nil means PipelineConfig.FailureIf,
	// and if that is nil too, all of them. It is never asked about the caller's cancellation, refusals by layers
	// further in, and panics.
	FailureIf func(error) bool
	// Bus is where the breaker's state changes go: the same as that of its pipelines, whoever listens to them expects.
	// Nil means events.Default().
	Bus *events.Bus
}

const (
	defaultConsecutive  = 5
	defaultMinCalls     = 20
	defaultWindow       = 30 * time.Second
	defaultCooldown     = 30 * time.Second
	defaultMaxProbeTime = time.Minute
)

func (cfg BreakerConfig) withDefaults() BreakerConfig {
	if cfg.ConsecutiveFailures == 0 && cfg.FailureRatio == 0 {
		cfg.ConsecutiveFailures = defaultConsecutive
	}
	cfg.MinCalls = or(cfg.MinCalls, defaultMinCalls)
	cfg.Window = or(cfg.Window, defaultWindow)
	cfg.Cooldown = or(cfg.Cooldown, defaultCooldown)
	cfg.Probes = or(cfg.Probes, 1)
	cfg.ProbeSuccesses = or(cfg.ProbeSuccesses, cfg.Probes)
	cfg.MaxProbeTime = or(cfg.MaxProbeTime, defaultMaxProbeTime)
	cfg.Bus = or(cfg.Bus, events.Default())
	return cfg
}

func (cfg BreakerConfig) check() error {
	c := checks{typ: "BreakerConfig"}
	c.name("Name", cfg.Name, true)
	c.bus(cfg.Bus)
	c.atLeast("ConsecutiveFailures", cfg.ConsecutiveFailures, 0, "at least 1, or 0 for the default, 5")
	c.ratio("FailureRatio", cfg.FailureRatio)
	c.atLeast("MinCalls", cfg.MinCalls, 0, "at least 1, or 0 for the default, 20")
	c.notNegative("Window", cfg.Window, defaultWindow)
	if cfg.Window > 0 && cfg.Window < windowCells {
		c.refuse("Window", cfg.Window, "at least 10ns")
	}
	c.notNegative("Cooldown", cfg.Cooldown, defaultCooldown)
	c.atLeast("Probes", cfg.Probes, 0, "at least 1, or 0 for the default, 1")
	c.atLeast("ProbeSuccesses", cfg.ProbeSuccesses, 0, "at least 1, or 0 for the default, Probes")
	if cfg.FailureRatio == 0 && cfg.MinCalls > 0 {
		c.refuse("MinCalls", cfg.MinCalls, "0 where FailureRatio is not set")
	}
	if cfg.FailureRatio == 0 && cfg.Window > 0 {
		c.refuse("Window", cfg.Window, "0 where FailureRatio is not set")
	}
	return c.err()
}

func (cfg BreakerConfig) settings() []Setting {
	var s []Setting
	if cfg.ConsecutiveFailures > 0 {
		s = append(s, Setting{"consecutive_failures", fmt.Sprint(cfg.ConsecutiveFailures)})
	}
	if cfg.FailureRatio > 0 {
		s = append(s, Setting{"failure_ratio", fmt.Sprint(cfg.FailureRatio)}, Setting{"min_calls", fmt.Sprint(cfg.MinCalls)},
			Setting{"window", cfg.Window.String()})
	}
	lease := "off"
	if cfg.MaxProbeTime > 0 {
		lease = cfg.MaxProbeTime.String()
	}
	return append(s, Setting{"cooldown", cfg.Cooldown.String()}, Setting{"probes", fmt.Sprint(cfg.Probes)},
		Setting{"probe_successes", fmt.Sprint(cfg.ProbeSuccesses)}, Setting{"max_probe_time", lease})
}
