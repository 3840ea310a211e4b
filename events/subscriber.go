package events

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
)

// Subscriber is what a bus counts against one of those who subscribe to it, so that it can be told whose handler panics
// and who misses events. It is a package: the import path of the function that called Subscribe, Observe or whatever else
// subscribes; "main" for the program's own. Nobody has to give a name, and there are never more of them than packages.
// Its methods are safe for concurrent use.
type Subscriber struct {
	bus     *hub
	name    string
	panics  atomic.Uint64
	dropped atomic.Uint64
}

// OutboxSubscriber is the name under which a bus counts what was dropped before there was a subscriber to miss it: an
// event for which a publisher's [Outbox] had no room. All subscribers miss that one.
const OutboxSubscriber = "outbox"

// Name is the import path of the subscribing package, or [OutboxSubscriber].
func (s *Subscriber) Name() string { return s.name }

// HandlerPanics counts the panics of its handlers so far.
func (s *Subscriber) HandlerPanics() uint64 { return s.panics.Load() }

// Dropped counts the events that it lost so far: its bounded queue was full, or it could not write them.
func (s *Subscriber) Dropped() uint64 { return s.dropped.Load() }

// CountDropped adds an event that it loses. It is for subscribers with a queue of their own, and those that write what may
// fail; buffered subscriptions of this package count by themselves.
func (s *Subscriber) CountDropped() { s.dropped.Add(1) }

// Guard is deferred around a handler that runs outside of the bus, behind a queue of its own: it recovers the handler's
// panic, counts and publishes it as the bus does for its own handlers.
func (s *Subscriber) Guard(ctx context.Context, e Event) {
	if v := recover(); v != nil {
		s.panicked(ctx, e, v)
	}
}

// panicked counts a handler's panic and publishes it.
func (s *Subscriber) panicked(ctx context.Context, e Event, value any) {
	s.panics.Add(1)
	s.bus.tellPanic(ctx, e, value)
}

// Subscriber returns what the bus counts against the calling package.
func (b *Bus) Subscriber() *Subscriber { return b.hub.subscriber() }

// Subscribers lists those who have subscribed so far, also those that have left again, and [OutboxSubscriber], by name. On
// [Off] there are none.
func (b *Bus) Subscribers() []*Subscriber { return b.hub.subscriberList() }

// subscriber returns the count of the package that called into package events.
func (h *hub) subscriber() *Subscriber { return h.subscriberNamed(callingPackage()) }

func (h *hub) subscriberNamed(name string) *Subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.subscribers[name]
	if s == nil {
		if h.subscribers == nil {
			h.subscribers = make(map[string]*Subscriber)
		}
		s = &Subscriber{bus: h, name: name}
		h.subscribers[name] = s
	}
	return s
}

func (h *hub) subscriberList() []*Subscriber {
	if h.off {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*Subscriber, 0, len(h.subscribers))
	for _, s := range h.subscribers {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Subscriber) int { return cmp.Compare(a.name, b.name) })
	return all
}

// callingPackage returns the import path of the nearest function on the stack that is not of this package.
func callingPackage() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	first, more := frames.Next()
	own := packageOf(first.Function)
	for more {
		var f runtime.Frame
		if f, more = frames.Next(); packageOf(f.Function) != own {
			return packageOf(f.Function)
		}
	}
	return OtherErrorType
}

// packageOf returns the import path in a function's full name, which has dots in its last element only behind a percent
// sign.
func packageOf(function string) string {
	if bracket := strings.IndexByte(function, '['); bracket >= 0 {
		function = function[:bracket] // type arguments, with paths of their own
	}
	slash := strings.LastIndexByte(function, '/') + 1
	if dot := strings.IndexByte(function[slash:], '.'); dot >= 0 {
		return strings.ReplaceAll(function[:slash+dot], "%2e", ".")
	}
	return function
}
