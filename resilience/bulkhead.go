package resilience

import (
	"context"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/events"
)

// BulkheadConfig configures a [Bulkhead]. Its zero value, but for the name, lets 100 calls run at once and refuses the
// next.
type BulkheadConfig struct {
	// Name tells the bulkhead apart in telemetry, where it becomes a label. It is required.
	Name string
	// MaxConcurrent is how many calls run at once. Zero means 100.
	MaxConcurrent int
	// MaxQueue is how many calls may wait for their turn, the higher [Priority] first, and within one first come, first
	// served. When the queue is full, who comes is refused, unless one of a lower priority waits: then the one of the lowest
	// that came last is refused in its stead, with ReasonShed. Zero means no queue, and that no priority counts.
	MaxQueue int
	// MaxWait is how long a call waits at most. Zero means until its context is done. It needs MaxQueue.
	MaxWait time.Duration
	// Bus is where the bulkhead is listed. Nil means events.Default().
	Bus *events.Bus
}

const defaultMaxConcurrent = 100

// Bulkhead is a [Gate] that limits how many calls run at once. Make one with [NewBulkhead] and share it among what uses
// the same resource. It is safe for concurrent use. It starts no goroutine, but a short-lived one for changes of the limit
// that come while others are being published.
type Bulkhead struct {
	cfg     BulkheadConfig // with defaults, but for MaxConcurrent, which may change
	place   place
	permits permits
}

// NewBulkhead makes an empty bulkhead. Its error is a *ConfigError, or several joined.
func NewBulkhead(cfg BulkheadConfig) (*Bulkhead, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.MaxConcurrent = or(cfg.MaxConcurrent, defaultMaxConcurrent)
	cfg.Bus = or(cfg.Bus, events.Default())
	b := &Bulkhead{cfg: cfg, permits: permits{maxQueue: cfg.MaxQueue, maxWait: cfg.MaxWait}}
	b.permits.max.Store(int64(cfg.MaxConcurrent))
	b.place = place{bus: cfg.Bus, name: cfg.Name, source: cfg.Bus.NewSource(events.SourceSpec{
		Layer: cfg.Name, Type: events.TypeBulkhead, Settings: settingsLine(cfg.settings()), Limiter: b.Snapshot,
	})}
	b.place.warnOfState(b.traits())
	return b, nil
}

// MustBulkhead is NewBulkhead, and panics with its error.
func MustBulkhead(cfg BulkheadConfig) *Bulkhead { return mustBe(NewBulkhead(cfg)) }

func (cfg BulkheadConfig) check() error {
	c := checks{typ: "BulkheadConfig"}
	c.name("Name", cfg.Name, true)
	c.bus(cfg.Bus)
	c.atLeast("MaxConcurrent", cfg.MaxConcurrent, 0, "at least 1, or 0 for the default, 100")
	c.atLeast("MaxQueue", cfg.MaxQueue, 0, "0 (no queue) or more")
	if cfg.MaxWait < 0 {
		c.refuse("MaxWait", cfg.MaxWait, "positive, or 0 for as long as the context lives")
	} else if cfg.MaxWait > 0 && cfg.MaxQueue == 0 {
		c.refuse("MaxWait", cfg.MaxWait, "0 where MaxQueue is not set")
	}
	return c.err()
}

func (cfg BulkheadConfig) settings() []Setting {
	s := []Setting{{"max_concurrent", fmt.Sprint(cfg.MaxConcurrent)}, {"max_queue", fmt.Sprint(cfg.MaxQueue)}}
	if cfg.MaxWait > 0 {
		s = append(s, Setting{"max_wait", cfg.MaxWait.String()})
	}
	return s
}

// LayerInfo implements [Layer]. It tells the present limit.
func (b *Bulkhead) LayerInfo() LayerInfo {
	cfg := b.cfg
	cfg.MaxConcurrent = int(b.permits.max.Load())
	return LayerInfo{Name: cfg.Name, Type: events.TypeBulkhead, Settings: cfg.settings()}
}

func (b *Bulkhead) check() error {
	if b.place.bus == nil {
		return fmt.Errorf("is a %T that was not made by NewBulkhead", b)
	}
	return nil
}

func (b *Bulkhead) stateSource() *events.Source { return b.place.source }

// Name returns the bulkhead's name.
func (b *Bulkhead) Name() string { return b.cfg.Name }

// Snapshot returns the limit, how many calls run, and how many wait.
func (b *Bulkhead) Snapshot() events.LimiterReading { return b.permits.reading() }

// SetMaxConcurrent sets how many calls run at once, from the next one on. A higher limit lets those go who wait and may
// now; below a lower one the calls that run are more than that until enough of them have ended. A limit that is another
// than before is published as [events.LimitChanged], after it has taken effect. The error is a *ConfigError, and then
// nothing has changed. The settings of a source are those of when it was made.
func (b *Bulkhead) SetMaxConcurrent(n int) error {
	if b.place.bus == nil {
		return errNotMade(b)
	}
	if n < 1 {
		return &ConfigError{"Bulkhead", "MaxConcurrent", n, "at least 1"}
	}
	p, bus := &b.permits, b.place.bus
	p.mu.Lock()
	if before := p.limit(int64(n)); before != int64(n) && bus.LimitChanged.Heard() {
		p.changes.add(context.Background(), bus, events.LimitChanged{Meta: b.place.meta(Call{}),
			From: before, To: int64(n), Reason: events.ReasonManual})
	}
	p.changes.unlock(&p.mu, bus)
	return nil
}

// Admit implements [Gate]: it lets the call through, has it wait if there is a queue, or refuses with a *LimitedError.
func (b *Bulkhead) Admit(ctx context.Context, _ Call) (Permit, error) {
	if b.permits.take() {
		return Permit{}, nil
	}
	reason, err := b.permits.wait(ctx)
	if reason != 0 {
		err = b.limited(reason)
	}
	return Permit{}, err
}

// Settle implements [Gate].
func (b *Bulkhead) Settle(context.Context, Call, Permit, Outcome) { b.permits.leave() }

func (b *Bulkhead) limited(reason events.Reason) error {
	return limited(b.cfg.Name, events.TypeBulkhead, reason, b.Snapshot())
}

func (b *Bulkhead) waits() bool { return b.cfg.MaxQueue > 0 }

// early is false: a value that lives on still uses what the bulkhead limits.
func (b *Bulkhead) early(bool) bool { return false }

// String returns the bulkhead's name and how many calls run.
func (b *Bulkhead) String() string {
	s := b.Snapshot()
	return fmt.Sprintf("bulkhead %s (%d of %d)", b.cfg.Name, s.Usage, s.Limit)
}

// Run calls op if there is room: the bulkhead alone, without a pipeline. The error is op's, a *LimitedError, or a
// *CanceledError when ctx ended first.
func (b *Bulkhead) Run(ctx context.Context, op func(ctx context.Context) error) error {
	return runAlone(ctx, b, b.place, op)
}

// Acquire asks the bulkhead for one call in two steps: the caller releases the lease with how the call ended. The error
// is a *LimitedError, or a *CanceledError when ctx has ended. A lease that is never released takes a place for ever.
func (b *Bulkhead) Acquire(ctx context.Context) (*Lease, error) { return acquire(ctx, b, b.place) }
