package resilience

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
)

// RetryBudgetConfig configures a [RetryBudget]. It has one of two modes. With neither named, or with Tokens or Ratio, the
// budget follows the outcomes (feedback); with Allowance it gives so many extra attempts a Window, whatever the outcomes.
type RetryBudgetConfig struct {
	// Name tells the budget apart in telemetry, where it becomes a label. It is required.
	Name string
	// Tokens is what a feedback budget holds at most, and at first. A failed attempt takes 1, down to 0; extra attempts are
	// allowed while more than half are there, so that about half of Tokens may start one after another
	// ([RetryBudget.Available]), and below 3 the first failure denies them. Zero means 100.
	Tokens int
	// Ratio is what a success gives back: in the long run that many extra attempts a success. The budget is used up where more
	// than Ratio/(1+Ratio) of the attempts fail: one in eleven at 0.1, half at 1, two thirds at 2, so that much more is hardly
	// a limit. It is finite and at least 0.001, and is rounded to thousandths. Zero means 0.1.
	Ratio float64
	// Allowance is how many extra attempts may start in each Window. Nothing is carried over.
	Allowance int
	// Window is the length of the windows, the first of which begins when the budget is made. Zero means 10 s.
	Window time.Duration
	// Bus is where the budget is listed. Nil means events.Default().
	Bus *events.Bus
}

const (
	defaultTokens       = 100
	defaultRatio        = 0.1
	defaultBudgetWindow = 10 * time.Second
)

// RetryBudget is an allowance of extra attempts, the retries and hedges after a call's first attempt, that keeps them from
// multiplying the load on a dependency in trouble. Make one with [NewRetryBudget] and give it to every Retry and Hedge, of
// as many pipelines as there are, that calls the same dependency. Where it denies, a retry ends with its last outcome and a
// hedge is not started; first attempts always run. It is safe for concurrent use, takes no lock, and starts neither
// goroutine nor timer.
//
// An attempt is one run of the operation. To a feedback budget a failure counts that the Retry would repeat, also where no
// attempt is left, and where a Timeout of ours ended it; the caller's cancellation, a panic, an error that is not retryable
// and a refusal by a layer further in change nothing. Where layers of a pipeline that share a budget are nested, the
// innermost tells it the outcomes, so that none counts twice. From a replenishing budget each layer takes a token for each
// extra attempt that it starts, when it starts it; a token is never given back.
type RetryBudget struct {
	cfg    RetryBudgetConfig // with defaults
	source *events.Source
	// One of the two rules applies; its limit is 0 where it does not.
	feedback    feedback
	replenished replenished
	level       atomic.Int64 // what the rule keeps: all there is to know of the past
}

// NewRetryBudget makes a budget that is full. Its error is a *ConfigError, or several joined.
func NewRetryBudget(cfg RetryBudgetConfig) (*RetryBudget, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	b := &RetryBudget{cfg: cfg}
	if cfg.Allowance > 0 {
		b.replenished = replenished{allowance: int64(cfg.Allowance), window: int64(cfg.Window), origin: now()}
	} else {
		b.feedback = newFeedback(cfg.Tokens, cfg.Ratio)
		b.level.Store(b.feedback.max)
	}
	b.source = cfg.Bus.NewSource(events.SourceSpec{
		Layer: cfg.Name, Type: events.TypeRetryBudget, Settings: settingsLine(cfg.settings()), Budget: b.Snapshot,
	})
	return b, nil
}

// MustRetryBudget is NewRetryBudget, and panics with its error.
func MustRetryBudget(cfg RetryBudgetConfig) *RetryBudget { return mustBe(NewRetryBudget(cfg)) }

func (cfg RetryBudgetConfig) check() error {
	c := checks{typ: "RetryBudgetConfig"}
	c.name("Name", cfg.Name, true)
	c.bus(cfg.Bus)
	if cfg.Allowance != 0 {
		c.between("Allowance", cfg.Allowance, "at least 1 and at most 2147483647, or 0 for not used")
		if cfg.Tokens != 0 {
			c.refuse("Tokens", cfg.Tokens, "0 where Allowance is set: they are two modes")
		}
		if cfg.Ratio != 0 {
			c.refuse("Ratio", cfg.Ratio, "0 where Allowance is set: they are two modes")
		}
		c.notNegative("Window", cfg.Window, defaultBudgetWindow)
		return c.err()
	}
	if cfg.Tokens != 0 {
		c.between("Tokens", cfg.Tokens, "at least 1 and at most 2147483647, or 0 for the default, 100")
	}
	if cfg.Ratio != 0 && !(cfg.Ratio >= 0.001 && cfg.Ratio <= math.MaxFloat64) {
		c.refuse("Ratio", cfg.Ratio, "finite and at least 0.001, or 0 for the default, 0.1")
	}
	if cfg.Window != 0 {
		c.refuse("Window", cfg.Window, "0 where Allowance is not set")
	}
	return c.err()
}

// between refuses a number that is not from 1 to the largest int32.
func (c *checks) between(field string, value int, allowed string) {
	if value < 1 || value > math.MaxInt32 {
		c.refuse(field, value, allowed)
	}
}

func (cfg RetryBudgetConfig) withDefaults() RetryBudgetConfig {
	cfg.Bus = or(cfg.Bus, events.Default())
	if cfg.Allowance > 0 {
		cfg.Window = or(cfg.Window, defaultBudgetWindow)
		return cfg
	}
	cfg.Tokens = or(cfg.Tokens, defaultTokens)
	cfg.Ratio = or(cfg.Ratio, defaultRatio)
	return cfg
}

func (cfg RetryBudgetConfig) settings() []Setting {
	if cfg.Allowance > 0 {
		return []Setting{{"allowance", fmt.Sprint(cfg.Allowance)}, {"window", cfg.Window.String()}}
	}
	return []Setting{{"tokens", fmt.Sprint(cfg.Tokens)}, {"ratio", fmt.Sprint(cfg.Ratio)}}
}

// Name returns the budget's name.
func (b *RetryBudget) Name() string { return b.cfg.Name }

// Available returns how many extra attempts the budget would grant now, one after another, if all of them failed; 0: it is
// drained.
func (b *RetryBudget) Available() int { return int(b.Snapshot().Available) }

// Snapshot returns Available, and what it is when the budget is full.
func (b *RetryBudget) Snapshot() events.BudgetReading {
	level := b.level.Load() // before the clock is read
	if b.replenishes() {
		return events.BudgetReading{Available: b.replenished.left(level, now()), Limit: b.replenished.allowance}
	}
	return events.BudgetReading{Available: b.feedback.granted(level), Limit: b.feedback.granted(b.feedback.max)}
}

// String returns the budget's name and what is left of it.
func (b *RetryBudget) String() string {
	s := b.Snapshot()
	return fmt.Sprintf("retry budget %s (%d of %d left)", b.cfg.Name, s.Available, s.Limit)
}

// The methods below are what a Retry or a Hedge calls. Those of a nil budget allow everything.

// allows tells whether an extra attempt would be granted now. It takes nothing: the layer asks before it waits.
func (b *RetryBudget) allows() bool { return b == nil || b.Snapshot().Available > 0 }

// take grants or denies an extra attempt, which must start now: what it takes is not given back.
func (b *RetryBudget) take() bool {
	if b == nil || !b.replenishes() {
		return b.allows()
	}
	for {
		level := b.level.Load() // before the clock is read: the clock is then not behind whoever stored it
		next, ok := b.replenished.take(level, now())
		if !ok {
			return false
		}
		if b.level.CompareAndSwap(level, next) {
			return true
		}
	}
}

// feed tells a feedback budget how an attempt ended. The layer does not call it for what changes nothing, see [RetryBudget].
func (b *RetryBudget) feed(success bool) {
	if b == nil || b.replenishes() {
		return
	}
	for {
		level := b.level.Load()
		next := b.feedback.after(level, success)
		if next == level || b.level.CompareAndSwap(level, next) {
			return
		}
	}
}

func (b *RetryBudget) replenishes() bool { return b.replenished.allowance > 0 }

// budget refuses one that was not made by its constructor.
func (c *checks) budget(b *RetryBudget) {
	if b != nil && b.source == nil {
		c.refuse("Budget", "a zero RetryBudget", "made by NewRetryBudget, or nil for none")
	}
}

// feeds tells whether the layer at position, which uses budget, tells it the outcomes: not if one further in does.
func (b *builder[T]) feeds(position int, budget *RetryBudget) bool {
	if budget == nil {
		return false
	}
	for _, l := range b.cfg.Layers[position+1:] {
		if in, ok := l.(budgeted); ok && in.retryBudget() == budget {
			return false
		}
	}
	return true
}
