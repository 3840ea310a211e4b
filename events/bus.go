package events

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Bus distributes the events of the pipelines and layers that were built with it. Make one with [NewBus], or use
// [Default]. It is safe for concurrent use.
type Bus struct {
	// Execution and Attempt are intervals: their observers see the start, may derive the context, and see the end.
	Execution Interval[ExecutionStarted, ExecutionFinished]
	Attempt   Interval[AttemptStarted, AttemptFinished]

	RetryScheduled      Topic[RetryScheduled]
	RetryStopped        Topic[RetryStopped]
	CallRejected        Topic[CallRejected]
	TimedOut            Topic[TimedOut]
	LateResult          Topic[LateResult]
	BreakerStateChanged Topic[BreakerStateChanged]
	HedgeStarted        Topic[HedgeStarted]
	HedgeSettled        Topic[HedgeSettled]
	HedgeDenied         Topic[HedgeDenied]
	FallbackUsed        Topic[FallbackUsed]
	FlightJoined        Topic[FlightJoined]
	LimitChanged        Topic[LimitChanged]
	KeyEvicted          Topic[KeyEvicted]
	ShadowRejected      Topic[ShadowRejected]
	FaultInjected       Topic[FaultInjected]
	DiscardFailed       Topic[DiscardFailed]
	CallbackPanicked    Topic[CallbackPanicked]
	HandlerPanicked     Topic[HandlerPanicked]

	// ConfigWarning tells what was built oddly; a late subscriber learns of what lives.
	ConfigWarning Warnings

	// Source tells which pipelines and shared layers come and go; a late observer learns of those that live.
	Source Lifetimes

	hub hub
}

// hub is what the topics of one bus share.
type hub struct {
	off             bool
	calls           atomic.Int64 // subscriptions to what happens within calls
	handlerPanicked *Topic[HandlerPanicked]
	outbox          *Subscriber // counts what a publisher drops

	mu          sync.Mutex             // guards subscribers
	subscribers map[string]*Subscriber // by name
}

// NewBus returns a bus without subscribers. A Bus that it did not make panics when it is subscribed to.
func NewBus() *Bus {
	b := new(Bus)
	h := &b.hub
	h.handlerPanicked = &b.HandlerPanicked
	h.outbox = h.subscriberNamed(OutboxSubscriber)
	b.Execution.hub, b.Attempt.hub = h, h
	b.RetryScheduled.hub, b.RetryStopped.hub, b.CallRejected.hub = h, h, h
	b.TimedOut.hub, b.LateResult.hub, b.BreakerStateChanged.hub = h, h, h
	b.HedgeStarted.hub, b.HedgeSettled.hub, b.HedgeDenied.hub = h, h, h
	b.FallbackUsed.hub, b.FlightJoined.hub, b.LimitChanged.hub = h, h, h
	b.KeyEvicted.hub, b.ShadowRejected.hub, b.FaultInjected.hub = h, h, h
	b.DiscardFailed.hub, b.CallbackPanicked.hub, b.HandlerPanicked.hub = h, h, h
	b.Source.hub = h
	b.ConfigWarning.hub, b.ConfigWarning.sources = h, &b.Source
	return b
}

var defaultBus = NewBus()

// Default returns the process's bus: the one of every pipeline and layer whose configuration names none.
func Default() *Bus { return defaultBus }

var offBus = func() *Bus { b := NewBus(); b.hub.off = true; return b }()

// Off returns a bus that hears nothing: subscriptions to it are void and its sources are not listed. It is for the
// clients of exporters, whose own calls must not be exported.
func Off() *Bus { return offBus }

// Ready tells whether the bus was made by [NewBus]: nobody can listen to one that was not.
func (b *Bus) Ready() bool { return b.Source.hub != nil }

// CallsHeard tells whether anybody listens to what happens within calls: one atomic load. A pipeline keeps no record of a
// call otherwise.
func (b *Bus) CallsHeard() bool { return b.hub.calls.Load() != 0 }

// Subscribe calls handle for every event of the [Catalogue], boxed, synchronously: for logs and pages. Like every
// observer of sources it first learns of those that live. The end of an interval comes with the context of its start, and
// also after cancel, if the start came before.
func (b *Bus) Subscribe(handle func(context.Context, Event)) (cancel func()) {
	if !b.hub.accepts(handle == nil, "the bus") {
		return func() {}
	}
	var cancels []func()
	for _, k := range catalogue {
		if k.subscribe != nil {
			cancels = append(cancels, k.subscribe(b, handle))
		}
	}
	return sync.OnceFunc(func() {
		for _, c := range cancels {
			c()
		}
	})
}

// Sources lists what lives now: pipelines (with their layers, see [Source.Layers]) and shared layers, in the order in
// which they were made.
func (b *Bus) Sources() []*Source { return b.Source.list() }

// HandlerPanics counts the panics of subscribers so far, also those that are not published (see [HandlerPanicked]).
func (b *Bus) HandlerPanics() (n uint64) {
	for _, s := range b.Subscribers() {
		n += s.HandlerPanics()
	}
	return n
}

// Dropped counts the events that buffered subscriptions and outboxes of this bus have dropped so far.
func (b *Bus) Dropped() (n uint64) {
	for _, s := range b.Subscribers() {
		n += s.Dropped()
	}
	return n
}

// CountDropped adds an event that a publisher had to drop, such as one that its [Outbox] had no room for.
func (b *Bus) CountDropped() { b.hub.outbox.CountDropped() }

// accepts tells whether subscriptions count; it panics on those that can only be mistakes.
func (h *hub) accepts(noHandler bool, what string) bool {
	if h == nil {
		panic("events: the Bus was not made by NewBus")
	}
	if noHandler {
		panic("events: nil handler for " + what)
	}
	return !h.off
}

// heard counts subscriptions to events that are published within calls and need the call's record.
func (h *hub) heard(e Event, delta int64) {
	switch e.(type) {
	case BreakerStateChanged, HandlerPanicked, LimitChanged, KeyEvicted:
	default:
		h.calls.Add(delta)
	}
}

// tellPanic publishes a handler's panic, with a context that marks what is done about it as nested. A panic in what is
// nested is only counted: publishing it could go round in a circle.
func (h *hub) tellPanic(ctx context.Context, e Event, value any) {
	m := e.Header()
	if m.Nested || Nested(ctx) || !h.handlerPanicked.Heard() {
		return
	}
	m.At = time.Now()
	h.handlerPanicked.Publish(Nest(ctx), HandlerPanicked{Meta: m, Event: e.EventName(), Value: value})
}
