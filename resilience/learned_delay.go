package resilience

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// LearnedDelayConfig configures a [LearnedDelay].
type LearnedDelayConfig struct {
	// Quantile is the share of answers that come within the delay: at 0.95, one call in twenty is hedged. Above 0 and
	// below 1; zero means 0.95.
	Quantile float64
	// Min and Max are the floor and the ceiling of the delay. Zero means 1 ms and 10 s.
	Min, Max time.Duration
	// Window is how long an answer is remembered: at least half of it, at most the whole. Zero means 1 min.
	Window time.Duration
	// MinSamples is how many answers must be remembered before the delay is learned from them. Zero means as many as it
	// takes for one of them to be beyond the quantile, and at least 20.
	MinSamples int
}

// LearnedDelay is the delay of a [Hedge] as a quantile of how long the first runs took of late. Make one with
// [NewLearnedDelay] for each dependency, or each kind of question to it, and share it among the pipelines that ask. It is
// safe for concurrent use, takes some kilobytes, and starts neither goroutine nor timer.
//
// What counts is the first run of each call: the time until it succeeds, or, if it was still running when a hedge had
// won or the caller left, the time it had taken by then, which is the least that is known of it. Failures tell nothing
// about how long an answer takes and are left out. An estimate is at most 5 % off, plus what the steps of the window make
// and what the last answers would change: it is made anew when an eighth as many as it stands on have come, at most 32.
type LearnedDelay struct {
	cfg LearnedDelayConfig // with defaults

	mu       sync.Mutex // guards what follows
	recent   quantiles
	estimate time.Duration // 0: not enough samples
	until    int           // how many more samples the estimate serves
}

// NewLearnedDelay makes one that has learned nothing yet. Its error is a *ConfigError, or several joined.
func NewLearnedDelay(cfg LearnedDelayConfig) (*LearnedDelay, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	return &LearnedDelay{cfg: cfg, recent: newQuantiles(cfg.Min, cfg.Max, int64(max(cfg.Window/2, 1)))}, nil
}

// MustLearnedDelay is NewLearnedDelay, and panics with its error.
func MustLearnedDelay(cfg LearnedDelayConfig) *LearnedDelay { return mustBe(NewLearnedDelay(cfg)) }

const (
	defaultQuantile     = 0.95
	defaultMinDelay     = time.Millisecond
	defaultMaxLearned   = 10 * time.Second
	defaultLearnWindow  = time.Minute
	leastLearnedSamples = 20
)

func (cfg LearnedDelayConfig) withDefaults() LearnedDelayConfig {
	cfg.Quantile = or(cfg.Quantile, defaultQuantile)
	cfg.Min = or(cfg.Min, defaultMinDelay)
	cfg.Max = or(cfg.Max, defaultMaxLearned)
	cfg.Window = or(cfg.Window, defaultLearnWindow)
	if cfg.MinSamples == 0 {
		beyond := math.Ceil(1 / (1 - cfg.Quantile) * (1 - 1e-9)) // 20 for 0.95, although 1-0.95 is a little above 0.05
		cfg.MinSamples = max(leastLearnedSamples, int(min(beyond, math.MaxInt32)))
	}
	return cfg
}

func (cfg LearnedDelayConfig) check() error {
	c := checks{typ: "LearnedDelayConfig"}
	if q := cfg.Quantile; math.IsNaN(q) || q < 0 || q >= 1 {
		c.refuse("Quantile", q, "above 0 and below 1, or 0 for the default, 0.95")
	}
	c.notNegative("Min", cfg.Min, defaultMinDelay)
	c.notNegative("Max", cfg.Max, defaultMaxLearned)
	if d := cfg.withDefaults(); cfg.Min >= 0 && cfg.Max >= 0 && d.Min > d.Max {
		c.refuse("Min", cfg.Min, fmt.Sprintf("at most Max, %v", d.Max))
	}
	c.notNegative("Window", cfg.Window, defaultLearnWindow)
	c.atLeast("MinSamples", cfg.MinSamples, 0, "at least 1, or 0 for the default")
	return c.err()
}

// Delay returns what a Hedge waits at present; false if too little is remembered to tell.
func (l *LearnedDelay) Delay() (d time.Duration, learned bool) {
	if !l.ready() {
		return 0, false
	}
	at := now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.recent.roll(at) || l.until <= 0 {
		l.learn()
	}
	return l.estimate, l.estimate > 0
}

// String returns the delay and what it is.
func (l *LearnedDelay) String() string {
	if !l.ready() {
		return "a LearnedDelay that was not made by NewLearnedDelay"
	}
	learned := "not learned yet"
	if d, ok := l.Delay(); ok {
		learned = d.String()
	}
	return fmt.Sprintf("delay %s (%s)", learned, l.setting())
}

// or returns the delay, until it is learned the one given, within the bounds.
func (l *LearnedDelay) or(d time.Duration) time.Duration {
	if learned, ok := l.Delay(); ok {
		return learned
	}
	return min(max(d, l.cfg.Min), l.cfg.Max)
}

// observe learns how long a first run took.
func (l *LearnedDelay) observe(took time.Duration) {
	at := now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.recent.roll(at) {
		l.until = 0
	}
	l.recent.add(took)
	l.until--
}

// maxServed is how many samples an estimate serves at most.
const maxServed = 32

// learn makes the estimate anew, which then serves until an eighth as many samples have come. mu is held.
func (l *LearnedDelay) learn() {
	l.estimate = 0
	n := l.recent.total()
	if n >= l.cfg.MinSamples {
		l.estimate = min(max(l.recent.at(l.cfg.Quantile), l.cfg.Min), l.cfg.Max)
	}
	l.until = min(max(n/8, 1), maxServed)
}

func (l *LearnedDelay) ready() bool { return l.recent.width > 0 }

// setting describes it in one setting of its Hedge.
func (l *LearnedDelay) setting() string {
	return fmt.Sprintf("quantile %v of %v, %v to %v, from %d answers on", l.cfg.Quantile, l.cfg.Window, l.cfg.Min, l.cfg.Max, l.cfg.MinSamples)
}
