package events

import (
	"context"
	"sync"
	"sync/atomic"
)

// Topic distributes events of one type. Its methods are safe for concurrent use, also from inside its handlers.
type Topic[E Event] struct {
	hub  *hub
	mu   sync.Mutex // guards changes of subs
	subs atomic.Pointer[[]*subscription[E]]
}

type subscription[E Event] struct {
	handle func(context.Context, E)
	by     *Subscriber
}

// Heard tells whether anybody subscribes: one atomic load. Publishers build no event unless it is true.
func (t *Topic[E]) Heard() bool { return t.subs.Load() != nil }

// Subscribe calls handle for each event, inside the call that publishes, after the handlers that subscribed before.
// A publication that begins after cancel has returned does not start handle; one under way may.
func (t *Topic[E]) Subscribe(handle func(context.Context, E)) (cancel func()) {
	var zero E
	if !t.hub.accepts(handle == nil, zero.EventName()) {
		return func() {}
	}
	s := &subscription[E]{handle, t.hub.subscriber()}
	t.mu.Lock()
	t.subs.Store(with(t.subs.Load(), s))
	t.mu.Unlock()
	t.hub.heard(zero, 1)
	return sync.OnceFunc(func() {
		t.mu.Lock()
		t.subs.Store(without(t.subs.Load(), s))
		t.mu.Unlock()
		t.hub.heard(zero, -1)
	})
}

// SubscribeBuffered is Subscribe on a goroutine of its own, behind a queue of the given size (at least 1): a slow handler
// delays no call. What finds the queue full is dropped and counted. The handler's context has the values of the call's,
// and is never done. Close the subscription at shutdown to have what is queued delivered.
func (t *Topic[E]) SubscribeBuffered(size int, handle func(context.Context, E)) *Buffered {
	var zero E
	if !t.hub.accepts(handle == nil, zero.EventName()) {
		return &Buffered{queue: newQueue(t.hub, size, handle), cancel: func() {}}
	}
	q := newQueue(t.hub, size, handle)
	return &Buffered{queue: q, cancel: t.Subscribe(q.put)}
}

// Publish calls the handlers. It is for layers; a publisher asks [Topic.Heard] before it builds the event.
func (t *Topic[E]) Publish(ctx context.Context, e E) {
	p := t.subs.Load()
	if p == nil {
		return
	}
	for i := 0; i < len(*p); {
		i = t.deliver(ctx, *p, i, e)
	}
}

// deliver calls the handlers from the i-th on and returns where to go on: behind the last, or behind one that panicked.
func (t *Topic[E]) deliver(ctx context.Context, subs []*subscription[E], i int, e E) (next int) {
	next = i
	defer func() {
		if next == len(subs) {
			return
		}
		by := subs[next].by
		next++
		if v := recover(); v != nil {
			by.panicked(ctx, e, v)
			return
		}
		for next < len(subs) { // the handler ends the goroutine: the others still get the event
			next = t.deliver(ctx, subs, next, e)
		}
	}()
	for next < len(subs) {
		subs[next].handle(ctx, e)
		next++
	}
	return next
}

// with and without replace a list that publishers read without a lock; the empty list is nil, so that a topic nobody
// hears costs one load.
func with[S any](p *[]*S, s *S) *[]*S {
	var list []*S
	if p != nil {
		list = append(list, *p...)
	}
	list = append(list, s)
	return &list
}

func without[S any](p *[]*S, s *S) *[]*S {
	var list []*S
	for _, other := range *p {
		if other != s {
			list = append(list, other)
		}
	}
	if list == nil {
		return nil
	}
	return &list
}
