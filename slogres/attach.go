package slogres

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
)

// Attach writes a record for each event of bus, as cfg says, until detach is called. It refuses a nil bus, a handler that
// is attached to the bus already ([ErrAttached]) and negative sizes and times.
//
// After detach has returned no event is written, apart from one whose record another goroutine is writing just then; with
// [Config].Buffered, detach waits until what was buffered is written, at most FlushTimeout. Calling it again does nothing,
// and does not wait.
func Attach(bus *events.Bus, cfg Config) (detach func(), err error) {
	if bus == nil {
		return nil, errors.New("slogres: nil bus")
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	release, err := take(bus, cfg.Handler)
	if err != nil {
		return nil, err
	}
	a := &attachment{Config: cfg, by: bus.Subscriber(), storms: newStorms(cfg)}
	if cfg.Buffered > 0 {
		a.buffer = &buffer{by: a.by, size: cfg.Buffered, write: a.write}
	}
	attached := false
	defer func() {
		if !attached { // a bus that was not made by NewBus panics
			release()
		}
	}()
	cancels := a.subscribe(bus)
	attached = true
	return func() {
		if !a.detached.CompareAndSwap(false, true) {
			return // not sync.Once: to wait on its lock while a flush waits on time is a hang in a synctest bubble
		}
		for _, cancel := range cancels {
			cancel()
		}
		if a.storms != nil {
			a.tellOver(context.Background(), a.storms.over(time.Time{}, true))
		}
		if a.buffer != nil {
			a.buffer.close(cmp.Or(cfg.FlushTimeout, defaultFlushTimeout))
		}
		release()
	}, nil
}

// MustAttach is [Attach] that panics with the error.
func MustAttach(bus *events.Bus, cfg Config) (detach func()) {
	detach, err := Attach(bus, cfg)
	if err != nil {
		panic(err)
	}
	return detach
}

// attachment is one Attach.
type attachment struct {
	Config
	by       *events.Subscriber
	storms   *storms // nil: each event gets a record
	buffer   *buffer // nil: records are written inside the calls
	detached atomic.Bool
}

func (a *attachment) subscribe(bus *events.Bus) (cancels []func()) {
	return []func(){
		watch(a, &bus.Execution, func(o events.Outcome) events.ExecutionFinished { return events.ExecutionFinished{Outcome: o} }),
		watch(a, &bus.Attempt, func(o events.Outcome) events.AttemptFinished { return events.AttemptFinished{Outcome: o} }),
		hear(a, &bus.RetryScheduled),
		hear(a, &bus.RetryStopped),
		hear(a, &bus.CallRejected),
		hear(a, &bus.TimedOut),
		hear(a, &bus.LateResult),
		hear(a, &bus.BreakerStateChanged),
		hear(a, &bus.HedgeStarted),
		hear(a, &bus.HedgeSettled),
		hear(a, &bus.HedgeDenied),
		hear(a, &bus.FallbackUsed),
		hear(a, &bus.FlightJoined),
		hear(a, &bus.LimitChanged),
		hear(a, &bus.KeyEvicted),
		hear(a, &bus.ShadowRejected),
		hear(a, &bus.FaultInjected),
		hear(a, &bus.ConfigWarning),
		hear(a, &bus.DiscardFailed),
		hear(a, &bus.CallbackPanicked),
		hear(a, &bus.HandlerPanicked),
		bus.Source.Observe(func(ctx context.Context, e events.SourceAdded) func(context.Context, events.SourceRemoved) {
			tell(ctx, a, e)
			return func(ctx context.Context, e events.SourceRemoved) { tell(ctx, a, e) }
		}),
	}
}

// subscribable is a topic, or the warnings.
type subscribable[E events.Event] interface {
	Subscribe(func(context.Context, E)) (cancel func())
}

// hear logs the events of a topic.
func hear[E events.Event](a *attachment, topic subscribable[E]) (cancel func()) {
	return topic.Subscribe(func(ctx context.Context, e E) { tell(ctx, a, e) })
}

// watch logs both ends of an interval. sample makes an end with an outcome: from it follow the levels that ends can have,
// and when none of them is enabled at the start, nothing is kept for the end.
func watch[S, F events.Event](a *attachment, i *events.Interval[S, F], sample func(events.Outcome) F) (cancel func()) {
	var levels []slog.Level // the highest first
	for _, o := range events.Outcomes() {
		levels = append(levels, LevelOf(sample(o)))
	}
	slices.SortFunc(levels, func(l, other slog.Level) int { return int(other - l) })
	levels = slices.Compact(levels)

	p := newPending(func(ctx context.Context, f F) { tell(ctx, a, f) })
	return i.Watch(func(ctx context.Context, s S) (end func(F)) {
		tell(ctx, a, s)
		if s.Header().Nested || !a.mayWrite(ctx, levels) {
			return nil
		}
		return p.until(ctx)
	})
}

// mayWrite tells whether the handler takes records of any of these levels, as far as is known before there is an event.
func (a *attachment) mayWrite(ctx context.Context, levels []slog.Level) bool {
	if a.Level != nil {
		return true
	}
	h := a.handler()
	for _, l := range levels {
		if h.Enabled(ctx, l) {
			return true
		}
	}
	return false
}

// tell logs one event. It is generic so that an event whose level is disabled is not boxed on the heap: the one
// conversion that is not on its way to a record is to LevelOf, which keeps nothing.
func tell[E events.Event](ctx context.Context, a *attachment, e E) {
	if a.detached.Load() || e.Header().Nested {
		return
	}
	if at := e.Header().At; a.storms != nil && a.storms.isDue(at) {
		a.tellOver(ctx, a.storms.over(timeOf(at), false))
	}
	h := a.handler()
	var level slog.Level
	if a.Level == nil {
		level = LevelOf(e)
	} else {
		level = a.Level(e)
	}
	if !h.Enabled(ctx, level) {
		return
	}
	if marked(ctx, e) || a.skips(e) || a.withholds(ctx, level, e) {
		return
	}
	if a.buffer != nil {
		a.buffer.put(entry{ctx, e, nil})
		return
	}
	a.handle(ctx, h, a.record(ctx, level, e))
}

// handle has a record written. One that the handler could not write counts as an event that slogres lost; as with
// slog.Logger, nobody else is told.
func (a *attachment) handle(ctx context.Context, h slog.Handler, r slog.Record) {
	if err := h.Handle(events.Nest(ctx), r); err != nil {
		a.by.CountDropped()
	}
}

// withholds tells whether an event gets no record of its own, because enough like it have had theirs. Who asks for DEBUG
// wants every one.
func (a *attachment) withholds(ctx context.Context, level slog.Level, e events.Event) bool {
	if a.storms == nil || level <= slog.LevelDebug {
		return false
	}
	over, withheld := a.storms.withholds(level, e, func() slog.Record { return a.record(ctx, level, e) })
	a.tellOver(ctx, over)
	return withheld
}

// tellOver writes what stands for events that were withheld.
func (a *attachment) tellOver(ctx context.Context, over []summary) {
	defer func() {
		if len(over) > 0 { // the handler ends the goroutine: the rest is still told
			a.tellOver(ctx, over)
		}
	}()
	for len(over) > 0 {
		s := over[0]
		over = over[1:]
		if a.buffer != nil {
			a.buffer.put(entry{ctx, s.zero, &s.record})
		} else {
			a.writeSummary(ctx, s)
		}
	}
}

// writeSummary is guarded apart from the event, and the detach, that it comes with: its panic is not theirs.
func (a *attachment) writeSummary(ctx context.Context, s summary) {
	defer a.by.Guard(ctx, s.zero)
	if h := a.handler(); h.Enabled(ctx, s.record.Level) {
		a.handle(ctx, h, s.record)
	}
}

// marked tells whether an event comes from a call that a handler makes, where no execution says so: a shared breaker that
// changes its state. The bus itself marks the context of what it tells about panics.
func marked(ctx context.Context, e events.Event) bool {
	_, byBus := e.(events.HandlerPanicked)
	return !byBus && events.Nested(ctx)
}

func (a *attachment) skips(e events.Event) bool {
	if a.Skip == nil {
		return SkipStarts(e)
	}
	return a.Skip(e)
}

// write is the second half of tell on the buffer's goroutine, where slog.Default may have become another.
func (a *attachment) write(ctx context.Context, i entry) {
	if i.summary != nil {
		if h := a.handler(); h.Enabled(ctx, i.summary.Level) {
			a.handle(ctx, h, *i.summary)
		}
		return
	}
	e := i.e
	h, level := a.handler(), LevelOf(e)
	if a.Level != nil {
		level = a.Level(e)
	}
	if h.Enabled(ctx, level) {
		a.handle(ctx, h, a.record(ctx, level, e))
	}
}

func (a *attachment) handler() slog.Handler {
	if a.Handler != nil {
		return a.Handler
	}
	return slog.Default().Handler()
}
