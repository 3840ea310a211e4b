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
	// ConsecutiveFailures in a row open the breaker; a success starts the count anew. Zero means 5 if none of
	// FailureRatio, SlowCall and SlowRatio is set, else not used.
	ConsecutiveFailures int
	// FailureRatio opens the breaker when at least MinCalls are counted in the window and this share of them failed,
	// above 0 and at most 1. Zero means not used.
	FailureRatio float64
	// SlowCall and SlowRatio open the breaker when at least MinCalls are counted in the window and the share SlowRatio of
	// them took longer than SlowCall, however they ended; setting one of the two is enough. A call counts as slow when
	// it exceeds SlowCall, not only when it ends: the next call, or reading, sees a dependency that hangs, up to a
	// quarter of SlowCall late. So does a call that waits in a layer further in. Calls that the caller gives up count if
	// they were slow, and those that the caller's deadline ends always do. A slow probe is a failed one.
	// SlowCall zero means 5 s if SlowRatio is set, else not used. SlowRatio zero means 0.5 if SlowCall is set.
	SlowCall  time.Duration
	SlowRatio float64
	// MinCalls is for FailureRatio and SlowRatio, and refused without either. Zero means 20, or WindowCalls if that is
	// less.
	MinCalls int
	// Window is how long FailureRatio and SlowRatio count a call that has ended, at least 10 ns; it forgets in tenths. It
	// is refused without either. Zero means 30 s if WindowCalls is not set.
	Window time.Duration
	// WindowCalls makes it a window of the last calls, at most 100000, instead of a time: it forgets nothing however
	// few calls there are. It is refused with Window. Zero means not used.
	WindowCalls int
	// CountDeadlines makes a failure of a call that the caller's deadline ended, which is ignored otherwise (but for
	// SlowCall): a dependency that hangs until every caller's deadline does not go unnoticed. The caller's cancellation
	// is never one.
	CountDeadlines bool
	// Cooldown is how long the breaker stays open before it lets probes through. Zero means 30 s.
	Cooldown time.Duration
	// CooldownFunc makes the cooldown grow: it is given how many times the breaker has opened since it was last closed,
	// from 1 on. A result that is not positive means Cooldown. It is called ahead, when the breaker is made and after
	// each opening for the one that may follow, without any lock held.
	CooldownFunc func(openings int) time.Duration
	// Probes is how many calls at a time a half-open breaker lets through. Zero means 1. A call that passes the breaker twice
	// on its way, in a pipeline and in another inside its operation, takes two: with one the breaker refuses its own probe.
	Probes int
	// ProbeSuccesses close a half-open breaker; one failure opens it again. Zero means Probes.
	ProbeSuccesses int
	// MaxProbeTime is after how long a probe that has not ended is given up and counts as a failure. It is noticed
	// at the next call, or when a probe ends. Zero means 1 min; negative means never.
	MaxProbeTime time.Duration
	// FailureIf tells which errors count as failures; the others count neither way. Nil means PipelineConfig.FailureIf,
	// and if that is nil too, all of them. It is never asked about the caller's cancellation and deadline, refusals by
	// layers further in, and panics.
	FailureIf func(error) bool
	// Shadow lets every call through, also when ForceOpen was called, while the breaker goes through its states as if it
	// refused: a call that it would have refused does not count, and is told as events.ShadowRejected. State and
	// Snapshot show the state that it would be in.
	Shadow bool
	// Bus is where the breaker's state changes go: the same as that of its pipelines, whoever listens to them expects.
	// Nil means events.Default().
	Bus *events.Bus
}

const (
	defaultConsecutive  = 5
	defaultMinCalls     = 20
	defaultWindow       = 30 * time.Second
	defaultSlowCall     = 5 * time.Second
	defaultSlowRatio    = 0.5
	defaultCooldown     = 30 * time.Second
	defaultMaxProbeTime = time.Minute
)

// windowed tells whether a share of the calls in a window opens the breaker.
func (cfg BreakerConfig) windowed() bool {
	return cfg.FailureRatio != 0 || cfg.SlowCall != 0 || cfg.SlowRatio != 0
}

func (cfg BreakerConfig) withDefaults() BreakerConfig {
	switch windowed := cfg.windowed(); {
	case windowed:
		if cfg.WindowCalls == 0 {
			cfg.Window = or(cfg.Window, defaultWindow)
			cfg.MinCalls = or(cfg.MinCalls, defaultMinCalls)
		}
		cfg.MinCalls = or(cfg.MinCalls, min(defaultMinCalls, cfg.WindowCalls))
	case cfg.ConsecutiveFailures == 0:
		cfg.ConsecutiveFailures = defaultConsecutive
	}
	if cfg.SlowCall > 0 || cfg.SlowRatio > 0 {
		cfg.SlowCall = or(cfg.SlowCall, defaultSlowCall)
		cfg.SlowRatio = or(cfg.SlowRatio, defaultSlowRatio)
	}
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
	c.notNegative("SlowCall", cfg.SlowCall, defaultSlowCall)
	c.ratio("SlowRatio", cfg.SlowRatio)
	c.atLeast("MinCalls", cfg.MinCalls, 0, "at least 1, or 0 for the default, 20")
	c.notNegative("Window", cfg.Window, defaultWindow)
	if cfg.Window > 0 && cfg.Window < windowCells {
		c.refuse("Window", cfg.Window, "at least 10ns")
	}
	c.atLeast("WindowCalls", cfg.WindowCalls, 0, "at least 1, or 0 for a window of time")
	if cfg.WindowCalls > maxWindowCalls {
		c.refuse("WindowCalls", cfg.WindowCalls, fmt.Sprintf("at most %d", maxWindowCalls))
	}
	c.notNegative("Cooldown", cfg.Cooldown, defaultCooldown)
	c.atLeast("Probes", cfg.Probes, 0, "at least 1, or 0 for the default, 1")
	c.atLeast("ProbeSuccesses", cfg.ProbeSuccesses, 0, "at least 1, or 0 for the default, Probes")
	cfg.checkTogether(&c)
	return c.err()
}

// checkTogether refuses options that contradict each other.
func (cfg BreakerConfig) checkTogether(c *checks) {
	if !cfg.windowed() {
		const allowed = "0 where FailureRatio, SlowCall and SlowRatio are not set"
		if cfg.MinCalls > 0 {
			c.refuse("MinCalls", cfg.MinCalls, allowed)
		}
		if cfg.Window > 0 {
			c.refuse("Window", cfg.Window, allowed)
		}
		if cfg.WindowCalls > 0 {
			c.refuse("WindowCalls", cfg.WindowCalls, allowed)
		}
	}
	if cfg.WindowCalls > 0 && cfg.Window > 0 {
		c.refuse("Window", cfg.Window, "0 where WindowCalls is set")
	}
	if cfg.WindowCalls > 0 && cfg.MinCalls > cfg.WindowCalls {
		c.refuse("MinCalls", cfg.MinCalls, fmt.Sprintf("at most WindowCalls, %d", cfg.WindowCalls))
	}
}
