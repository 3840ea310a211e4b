package resilience

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
)

// ChaosConfig configures a [Chaos]. It needs a Name, a Rate and at least one fault: a Latency, and one of Err, Value and
// Panic, or one of these alone. With both, the call is delayed and then disturbed.
type ChaosConfig struct {
	// Name tells the layer apart in telemetry, where it becomes a label. It is required.
	Name string
	// Rate is the share of the selected calls that are disturbed, above 0 and at most 1. It is required.
	Rate float64
	// Latency delays a call, as long as its context lives; then the call goes on. Zero means no delay.
	Latency time.Duration
	// MaxLatency makes the delay a random one between Latency and MaxLatency. Zero means always Latency.
	MaxLatency time.Duration
	// Err is what a call gets instead of being run. Like Value it is judged by PipelineConfig.Classify.
	Err error
	// Value is what a call gets instead of being run: a value of the pipeline's result type, or a func() of it, which makes
	// one for each call and is called concurrently. Another type is refused when the pipeline is built. In Run, where there
	// is no value, the call succeeds.
	Value any
	// Panic is what a call panics with instead of being run. As with an operation's panic, PipelineConfig.RecoverPanics makes
	// it a *PanicError.
	Panic any
	// Keys selects the calls with these keys (DoKey). Nil means all.
	Keys []string
	// If selects among those. It is called concurrently. Nil means all. If it panics the call is left alone.
	If func(ctx context.Context, call Call) bool
	// Seed makes the faults repeatable: whether the n-th selected call is disturbed, and its delay, depend on Seed and n
	// alone. Zero means a random one, which Describe shows.
	Seed uint64
	// Enabled is whether it disturbs calls from the start. See [Chaos.Enable].
	Enabled bool
	// Bus is where the layer is listed; its events go to the pipeline's. Nil means events.Default().
	Bus *events.Bus
}

// Chaos is a layer that disturbs calls on purpose, for drills: what is outside of it sees faults as if what is inside had
// them. Make one with [NewChaos]; it does nothing until it is enabled. One Chaos may stand in several pipelines, of
// whatever result type, which it then disturbs together. It is safe for concurrent use. Every fault is published
// (FaultInjected).
type Chaos struct {
	cfg     ChaosConfig
	source  *events.Source
	enabled atomic.Bool
	calls   atomic.Uint64 // selected so far
}

// NewChaos makes a Chaos. Its error is a *ConfigError, or several joined.
func NewChaos(cfg ChaosConfig) (*Chaos, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.Bus = or(cfg.Bus, events.Default())
	cfg.Keys = slices.Clone(cfg.Keys)
	for cfg.Seed == 0 {
		cfg.Seed = rand.Uint64()
	}
	c := &Chaos{cfg: cfg}
	c.enabled.Store(cfg.Enabled)
	c.source = cfg.Bus.NewSource(events.SourceSpec{Layer: cfg.Name, Type: events.TypeChaos, Settings: settingsLine(cfg.settings())})
	return c, nil
}

// MustChaos is NewChaos, and panics with its error.
func MustChaos(cfg ChaosConfig) *Chaos { return mustBe(NewChaos(cfg)) }

func (cfg ChaosConfig) check() error {
	c := checks{typ: "ChaosConfig"}
	c.name("Name", cfg.Name, true)
	c.bus(cfg.Bus)
	if !(cfg.Rate > 0 && cfg.Rate <= 1) { // NaN included
		c.refuse("Rate", cfg.Rate, "above 0 and at most 1")
	}
	if cfg.Latency < 0 {
		c.refuse("Latency", cfg.Latency, "positive, or 0 for no delay")
	}
	if cfg.MaxLatency != 0 && cfg.MaxLatency < max(cfg.Latency, 0) {
		c.refuse("MaxLatency", cfg.MaxLatency, "at least Latency, or 0 for always Latency")
	}
	if cfg.Value != nil && cfg.Err != nil {
		c.refuse("Value", cfg.Value, "left out where Err is set: a call ends in one way")
	}
	if cfg.Panic != nil && (cfg.Err != nil || cfg.Value != nil) {
		c.refuse("Panic", cfg.Panic, "left out where Err or Value is set: a call ends in one way")
	}
	if cfg.Err == nil && cfg.Value == nil && cfg.Panic == nil && cfg.Latency == 0 && cfg.MaxLatency == 0 {
		c.refuse("Err", nil, "set, where there is no Latency, Value or Panic: which fault?")
	}
	return c.err()
}

func (cfg ChaosConfig) settings() []Setting {
	s := []Setting{{"enabled_at_start", fmt.Sprint(cfg.Enabled)}, {"rate", fmt.Sprint(cfg.Rate)}, {"faults", strings.Join(cfg.faults(), "+")}}
	if longest := max(cfg.Latency, cfg.MaxLatency); longest > 0 {
		text := cfg.Latency.String()
		if longest > cfg.Latency {
			text += ".." + longest.String()
		}
		s = append(s, Setting{"latency", text})
	}
	if cfg.Keys != nil {
		s = append(s, Setting{"keys", fmt.Sprint(len(cfg.Keys))})
	}
	return append(s, Setting{"seed", fmt.Sprint(cfg.Seed)})
}

// faults lists what a disturbed call meets.
func (cfg ChaosConfig) faults() (all []string) {
	if cfg.Latency > 0 || cfg.MaxLatency > 0 {
		all = append(all, events.FaultLatency.String())
	}
	switch {
	case cfg.Err != nil:
		all = append(all, events.FaultError.String())
	case cfg.Value != nil:
		all = append(all, events.FaultValue.String())
	case cfg.Panic != nil:
		all = append(all, events.FaultPanic.String())
	}
	return all
}

// LayerInfo implements [Layer].
func (c *Chaos) LayerInfo() LayerInfo {
	return LayerInfo{Name: c.cfg.Name, Type: events.TypeChaos, Settings: c.cfg.settings()}
}

func (c *Chaos) check() error {
	if c.source == nil {
		return fmt.Errorf("is a %T that was not made by NewChaos", c)
	}
	return nil
}

func (c *Chaos) stateSource() *events.Source { return c.source }

// Name returns the layer's name.
func (c *Chaos) Name() string { return c.cfg.Name }

// Enable makes it disturb calls from the next on.
func (c *Chaos) Enable() { c.enabled.Store(true) }

// Disable makes it leave calls alone from the next on. The delay of one that is under way goes on.
func (c *Chaos) Disable() { c.enabled.Store(false) }

// Enabled tells whether it disturbs calls.
func (c *Chaos) Enabled() bool { return c.enabled.Load() }

// String returns the layer's name and whether it is enabled.
func (c *Chaos) String() string {
	if c.Enabled() {
		return "chaos " + c.cfg.Name + " (enabled)"
	}
	return "chaos " + c.cfg.Name + " (off)"
}

// draw decides about the next selected call: whether it is disturbed, and after what delay.
func (c *Chaos) draw() (delay time.Duration, disturbed bool) {
	drawn := rand.NewPCG(c.cfg.Seed, c.calls.Add(1))
	if unit(drawn) >= c.cfg.Rate {
		return 0, false
	}
	delay = c.cfg.Latency
	if spread := c.cfg.MaxLatency - delay; spread > 0 {
		delay += time.Duration(unit(drawn) * float64(spread))
	}
	return delay, true
}

// unit draws from [0, 1).
func unit(from *rand.PCG) float64 { return math.Ldexp(float64(from.Uint64()>>11), -53) }
