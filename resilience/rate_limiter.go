package resilience

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
)

// RateLimiterConfig configures a [RateLimiter]: in any span of time t it lets at most Rate x t/Per + Burst calls through.
type RateLimiterConfig struct {
	// Name tells the limiter apart in telemetry, where it becomes a label. It is required.
	Name string
	// Rate is how many calls a Per gives. It is required, and at most one a nanosecond. The time between two calls, Per/Rate,
	// is rounded up to whole nanoseconds, which is below 0.1 % up to a million calls a second.
	Rate int
	// Per is at most 10 years (of 365 days). Zero means 1 s.
	Per time.Duration
	// Burst is how many calls may come at once, after a while without any: the unused allowance that is kept. It is at most
	// what Rate gives in 10 years. Zero means Rate: what one Per gives, so that the worst Per sees twice Rate. 1 spaces the
	// calls evenly.
	Burst int
	// MaxWait is how long a call waits at most for its turn, first come, first served; more than a year is a year. Zero means
	// not at all: what comes too soon is refused.
	MaxWait time.Duration
	// Bus is where the limiter is listed. Nil means events.Default().
	Bus *events.Bus
}

const defaultPer = time.Second

// RateLimiter is a [Gate] that limits how many calls start in a span of time. Make one with [NewRateLimiter] and share it
// among what has the same allowance. It is safe for concurrent use, takes no lock for a call that need not wait, starts no
// goroutine, but a short-lived one for changes of the rate that come while others are being published, and has a timer only
// while a call waits.
//
// A call takes its part of the allowance when it is let through, or begins to wait, however it ends. One that would have
// to wait for longer than MaxWait, or until its context's deadline, is refused at once and takes nothing. One whose context
// ends while it waits gives its part back if it is the last in the line; if others wait behind it they keep their turns,
// and its part is lost, since who comes later must not have it on top of theirs.
type RateLimiter struct {
	cfg     RateLimiterConfig // with defaults; see rating for the present rate
	place   place
	rating  atomic.Pointer[rating]
	waiting atomic.Int64 // calls that wait, or are about to

	mu      sync.Mutex // guards what follows, changes of rating, and taking what is not there yet; never held while a handler runs
	line    []*inLine
	changes changes
}

// NewRateLimiter makes a limiter whose burst is unused. Its error is a *ConfigError, or several joined.
func NewRateLimiter(cfg RateLimiterConfig) (*RateLimiter, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	l := &RateLimiter{cfg: cfg}
	r := cfg.rating()
	r.tat.Store(now())
	l.rating.Store(r)
	l.place = place{bus: cfg.Bus, name: cfg.Name, source: cfg.Bus.NewSource(events.SourceSpec{
		Layer: cfg.Name, Type: events.TypeRateLimiter, Settings: settingsLine(cfg.settings()), Limiter: l.Snapshot,
	})}
	l.place.warnOfState(l.traits())
	return l, nil
}

// MustRateLimiter is NewRateLimiter, and panics with its error.
func MustRateLimiter(cfg RateLimiterConfig) *RateLimiter { return mustBe(NewRateLimiter(cfg)) }

func (cfg RateLimiterConfig) withDefaults() RateLimiterConfig {
	cfg.Per = or(cfg.Per, defaultPer)
	cfg.Burst = or(cfg.Burst, cfg.Rate)
	cfg.Bus = or(cfg.Bus, events.Default())
	return cfg
}

// rating returns the configured rate, of which nothing is known yet.
func (cfg RateLimiterConfig) rating() *rating {
	return &rating{rule: newGCRA(cfg.Rate, cfg.Per, cfg.Burst, cfg.MaxWait), rate: cfg.Rate, per: cfg.Per, burst: cfg.Burst}
}

func (cfg RateLimiterConfig) check() error {
	c := checks{typ: "RateLimiterConfig"}
	c.name("Name", cfg.Name, true)
	c.bus(cfg.Bus)
	if cfg.MaxWait < 0 {
		c.refuse("MaxWait", cfg.MaxWait, "positive, or 0 for no wait")
	}
	cfg.checkRate(&c)
	return c.err()
}

func (cfg RateLimiterConfig) checkRate(c *checks) {
	c.atLeast("Rate", cfg.Rate, 1, "at least 1")
	c.notNegative("Per", cfg.Per, defaultPer)
	if cfg.Per > maxSpan {
		c.refuse("Per", cfg.Per, "at most 10 years")
	}
	c.atLeast("Burst", cfg.Burst, 0, "at least 1, or 0 for the default, Rate")
	if per := or(cfg.Per, defaultPer); cfg.Rate >= 1 && per > 0 && per <= maxSpan {
		if int64(cfg.Rate) > int64(per) {
			c.refuse("Rate", cfg.Rate, "at most one a nanosecond of Per")
		} else if int64(cfg.Burst) > int64(maxSpan)/newGCRA(cfg.Rate, per, 1, 0).interval {
			c.refuse("Burst", cfg.Burst, "at most what Rate gives in 10 years")
		}
	}
}

func (cfg RateLimiterConfig) settings() []Setting {
	s := []Setting{{"rate", fmt.Sprint(cfg.Rate)}, {"per", cfg.Per.String()}, {"burst", fmt.Sprint(cfg.Burst)}}
	if cfg.MaxWait > 0 {
		s = append(s, Setting{"max_wait", cfg.MaxWait.String()})
	}
	return s
}

// LayerInfo implements [Layer]. It tells the present rate.
func (l *RateLimiter) LayerInfo() LayerInfo {
	cfg := l.cfg
	if r := l.rating.Load(); r != nil {
		cfg.Rate, cfg.Per, cfg.Burst = r.rate, r.per, r.burst
	}
	return LayerInfo{Name: cfg.Name, Type: events.TypeRateLimiter, Settings: cfg.settings()}
}

func (l *RateLimiter) check() error {
	if l.rating.Load() == nil {
		return fmt.Errorf("is a %T that was not made by NewRateLimiter", l)
	}
	return nil
}

func (l *RateLimiter) stateSource() *events.Source { return l.place.source }

// Name returns the limiter's name.
func (l *RateLimiter) Name() string { return l.cfg.Name }

// Snapshot returns the burst as the limit, how many calls of it are taken and not refilled yet as the usage, and how many
// calls wait.
func (l *RateLimiter) Snapshot() events.LimiterReading {
	r := l.rating.Load()
	if r == nil {
		return events.LimiterReading{}
	}
	tat, waiting := r.tat.Load(), l.waiting.Load()
	for tat == retired {
		l.settled()
		r = l.rating.Load()
		tat = r.tat.Load()
	}
	return events.LimiterReading{Limit: int64(r.burst), Usage: r.rule.taken(tat, now(), waiting > 0), Queued: waiting}
}

// SetRate sets how many calls a per gives, and how many may come at once, from the next one on; they mean what Rate, Per
// and Burst of the configuration do, and a per or burst of zero their defaults. How many calls of the burst are taken stays
// as it is, but is never more than the new burst. Those who wait get turns at the new rate, in the order in which they came: earlier ones, which may be now, or
// later ones; if a later turn comes after MaxWait, counted from when the call came, or after its deadline, it is refused.
//
// What is another than before is published as [events.LimitChanged], after it has taken effect. The error is a *ConfigError,
// or several joined, and then nothing has changed. The settings of a source are those of when it was made.
func (l *RateLimiter) SetRate(rate int, per time.Duration, burst int) error {
	if l.rating.Load() == nil {
		return errNotMade(l)
	}
	cfg := l.cfg
	cfg.Rate, cfg.Per, cfg.Burst = rate, per, burst
	c := checks{typ: "RateLimiter"}
	if cfg.checkRate(&c); c.err() != nil {
		return c.err()
	}
	fresh, bus := cfg.withDefaults().rating(), l.place.bus
	l.mu.Lock()
	old := l.rating.Load()
	if fresh.rate != old.rate || fresh.per != old.per || fresh.burst != old.burst {
		at := now()
		fresh.tat.Store(l.retime(old, fresh, old.tat.Swap(retired), at))
		l.rating.Store(fresh)
		if bus.LimitChanged.Heard() {
			l.changes.add(context.Background(), bus, events.LimitChanged{Meta: l.place.meta(Call{}),
				From: int64(old.burst), To: int64(fresh.burst), Rate: float64(fresh.rate) / fresh.per.Seconds(), Reason: events.ReasonManual})
		}
	}
	l.changes.unlock(&l.mu, bus)
	return nil
}

// settled returns when no rate is about to be replaced.
func (l *RateLimiter) settled() {
	l.mu.Lock()
	defer l.mu.Unlock()
}

// Admit implements [Gate]: it lets the call through, has it wait for its turn, or refuses with a *LimitedError that tells
// after what time it would have been let through.
func (l *RateLimiter) Admit(ctx context.Context, call Call) (Permit, error) {
	if l.rating.Load().takeAtOnce(call.clock()) {
		return Permit{}, nil
	}
	return Permit{}, l.admitOrWait(ctx)
}

// admitOrWait looks closely, with readings of the clock of its own.
func (l *RateLimiter) admitOrWait(ctx context.Context) error {
	for {
		// In this order the clock is not behind whoever stored the TAT, nor behind the turn of whoever waits no more.
		r := l.rating.Load()
		tat := r.tat.Load()
		if tat == retired {
			l.settled()
			continue
		}
		waiting := l.waiting.Load() > 0
		at := now()
		next, wait := r.rule.take(tat, at, waiting)
		if wait == 0 {
			if r.tat.CompareAndSwap(tat, next) {
				return nil
			}
			continue
		}
		if wait > l.patience(ctx) {
			if before := r.rule.giveBack(next); before != tat {
				r.tat.CompareAndSwap(tat, before) // or it would stay overdrawn for all who are refused
			}
			return l.limited(r, time.Duration(wait))
		}
		if taken, err := l.takeAndWait(ctx, r, tat, next, at, time.Duration(wait)); taken {
			return err
		}
	}
}

func (l *RateLimiter) limited(r *rating, after time.Duration) error {
	return &LimitedError{Layer: l.cfg.Name, Type: events.TypeRateLimiter, Reason: events.ReasonRate, After: after, Limit: int64(r.rate), Per: r.per}
}

// patience returns how long the call may wait: the wait must end before the deadline.
func (l *RateLimiter) patience(ctx context.Context) int64 {
	longest := int64(min(l.cfg.MaxWait, maxRateWait))
	if longest == 0 {
		return 0
	}
	if deadline, ok := ctx.Deadline(); ok {
		return min(longest, int64(time.Until(deadline))-1)
	}
	return longest
}

// Settle implements [Gate]: how the call ends changes nothing.
func (l *RateLimiter) Settle(context.Context, Call, Permit, Outcome) {}

func (l *RateLimiter) waits() bool { return l.cfg.MaxWait > 0 }

// early is true: nothing falls at the release of a value.
func (l *RateLimiter) early(bool) bool { return true }

// String returns the limiter's name and how much of its burst is taken.
func (l *RateLimiter) String() string {
	s := l.Snapshot()
	return fmt.Sprintf("rate limiter %s (%d of %d taken)", l.cfg.Name, s.Usage, s.Limit)
}

// Run calls op when the rate lets it: the limiter alone, without a pipeline. The error is op's, a *LimitedError, or a
// *CanceledError when ctx ended first.
func (l *RateLimiter) Run(ctx context.Context, op func(ctx context.Context) error) error {
	return runAlone(ctx, l, l.place, op)
}

// Acquire asks for one call in two steps. The lease has nothing to give back: releasing it changes nothing.
func (l *RateLimiter) Acquire(ctx context.Context) (*Lease, error) { return acquire(ctx, l, l.place) }
