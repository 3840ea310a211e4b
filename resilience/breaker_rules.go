package resilience

import (
	"fmt"
	"math"
	"time"
)

// breakerRules are a breaker's settings, defaults filled in, as its machine uses them and as they are told. They are
// immutable, and hold nothing alive: a source that is gone still tells them.
type breakerRules struct {
	ratio          float64       // of failures; 0: not used
	window         time.Duration // 0: none, or one of calls
	cooldown       time.Duration // of the first opening after a close
	maxProbeTime   time.Duration // negative: no limit
	slow           *slowRules    // nil: not used
	consecutive    int32         // failures in a row that open it; 0: not used
	minCalls       int32
	windowCalls    int32 // 0: none, or one of time
	probes         int32
	passes         int32 // successful probes that close it
	shadow         bool
	countDeadlines bool
}

type slowRules struct {
	limit time.Duration
	ratio float64
}

// rules are for a configuration with its defaults.
func (cfg BreakerConfig) rules() *breakerRules {
	r := &breakerRules{
		ratio: cfg.FailureRatio, window: cfg.Window, cooldown: cfg.Cooldown, maxProbeTime: cfg.MaxProbeTime,
		consecutive: atMost32(cfg.ConsecutiveFailures), minCalls: atMost32(cfg.MinCalls), windowCalls: int32(cfg.WindowCalls),
		probes: atMost32(cfg.Probes), passes: atMost32(cfg.ProbeSuccesses),
		shadow: cfg.Shadow, countDeadlines: cfg.CountDeadlines,
	}
	if cfg.SlowCall > 0 {
		r.slow = &slowRules{cfg.SlowCall, cfg.SlowRatio}
	}
	return r
}

// atMost32 makes two thousand million of what is more: nobody waits for the difference.
func atMost32(n int) int32 { return int32(min(n, math.MaxInt32)) }

// cellWidth is that of the window's cells.
func (r *breakerRules) cellWidth() int64 { return int64(r.window) / windowCells }

// slotWidth is that of the slots of the calls under way.
func (r *breakerRules) slotWidth() int64 { return slotWidth(int64(r.slow.limit)) }

func (r *breakerRules) settings() []Setting {
	var s []Setting
	add := func(name string, value any) { s = append(s, Setting{name, fmt.Sprint(value)}) }
	if r.consecutive > 0 {
		add("consecutive_failures", r.consecutive)
	}
	if r.ratio > 0 {
		add("failure_ratio", r.ratio)
	}
	if r.slow != nil {
		add("slow_call", r.slow.limit)
		add("slow_ratio", r.slow.ratio)
	}
	if r.ratio > 0 || r.slow != nil {
		add("min_calls", r.minCalls)
	}
	if r.windowCalls > 0 {
		add("window_calls", r.windowCalls)
	}
	if r.window > 0 {
		add("window", r.window)
	}
	if r.countDeadlines {
		add("count_deadlines", true)
	}
	add("cooldown", r.cooldown)
	add("probes", r.probes)
	add("probe_successes", r.passes)
	if r.maxProbeTime > 0 {
		add("max_probe_time", r.maxProbeTime)
	} else {
		add("max_probe_time", "off")
	}
	if r.shadow {
		add("shadow", true)
	}
	return s
}

// String writes the settings in one line: it is what the breaker's source tells when it is asked.
func (r *breakerRules) String() string { return settingsLine(r.settings()) }

// slowLimit is 0 where slow calls are not counted.
func (r *breakerRules) slowLimit() time.Duration {
	if r.slow == nil {
		return 0
	}
	return r.slow.limit
}

// slowRatio is 0 where slow calls are not counted.
func (r *breakerRules) slowRatio() float64 {
	if r.slow == nil {
		return 0
	}
	return r.slow.ratio
}
