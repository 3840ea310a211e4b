package events

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Interval distributes what has a start and an end. Whoever observes the start may derive the context that the
// operation gets: that is how a span becomes the parent of what the operation itself starts, which an event after the
// fact cannot do. Its methods are safe for concurrent use, also from inside its hooks.
type Interval[S, F Event] struct {
	hub   *hub
	mu    sync.Mutex // guards changes of hooks
	hooks atomic.Pointer[[]*hook[S, F]]
}

type hook[S, F Event] struct {
	by      *Subscriber
	start   func(context.Context, S) (context.Context, func(F))
	watches bool // it stands behind all that may derive the context
}

// Heard tells whether anybody observes: one atomic load.
func (i *Interval[S, F]) Heard() bool { return i.hooks.Load() != nil }

// Observe calls start for each beginning, in the order of subscription. The context it returns (nil: unchanged) is what
// later hooks and the operation get; the function it returns (nil: none) is called once with the end, ends in reverse
// order of their starts. Ends of what has started are called even after cancel. A start hook that panics has no end.
func (i *Interval[S, F]) Observe(start func(context.Context, S) (context.Context, func(F))) (cancel func()) {
	return i.add(start == nil, &hook[S, F]{start: start})
}

// Watch is Observe for who only looks on, such as a log. Watchers start behind all observers, whenever those subscribe, so
// that they get the context that the operation gets, and end before them, while a span is still open.
func (i *Interval[S, F]) Watch(start func(context.Context, S) (end func(F))) (cancel func()) {
	return i.add(start == nil, &hook[S, F]{watches: true, start: func(ctx context.Context, s S) (context.Context, func(F)) {
		return nil, start(ctx, s)
	}})
}

// SubscribeEnds calls handle with each end, and the context of its start: for who needs nothing of the start. It costs an
// allocation a call.
func (i *Interval[S, F]) SubscribeEnds(handle func(context.Context, F)) (cancel func()) {
	if handle == nil {
		return i.Watch(nil) // which panics as it should
	}
	return i.Watch(func(ctx context.Context, _ S) func(F) {
		return func(f F) { handle(ctx, f) }
	})
}

func (i *Interval[S, F]) add(none bool, h *hook[S, F]) (cancel func()) {
	var zero S
	if !i.hub.accepts(none, zero.EventName()) {
		return func() {}
	}
	h.by = i.hub.subscriber()
	i.mu.Lock()
	i.hooks.Store(inOrder(with(i.hooks.Load(), h)))
	i.mu.Unlock()
	i.hub.heard(zero, 1)
	return sync.OnceFunc(func() {
		i.mu.Lock()
		i.hooks.Store(without(i.hooks.Load(), h))
		i.mu.Unlock()
		i.hub.heard(zero, -1)
	})
}

// inOrder puts watchers behind observers, each in the order of their subscriptions. It changes the list in place.
func inOrder[S, F Event](hooks *[]*hook[S, F]) *[]*hook[S, F] {
	slices.SortStableFunc(*hooks, func(a, b *hook[S, F]) int {
		switch {
		case a.watches == b.watches:
			return 0
		case b.watches:
			return -1
		}
		return 1
	})
	return hooks
}

// Begin runs the start hooks and puts the ends of those that began into e. The caller defers e.Finish before it calls
// Begin: a hook that ends the goroutine must not leave others begun and never ended.
func (i *Interval[S, F]) Begin(ctx context.Context, s S, e *Ends[F]) context.Context {
	p := i.hooks.Load()
	if p == nil {
		return ctx
	}
	for k := 0; k < len(*p); {
		ctx, k = begin(ctx, *p, k, &s, e)
	}
	return ctx
}

// begin runs hooks from the k-th on under one guard and returns where to go on: behind the last, or behind one that
// panicked. It takes a pointer, since events are big.
func begin[S, F Event](in context.Context, hooks []*hook[S, F], k int, s *S, e *Ends[F]) (ctx context.Context, next int) {
	ctx, next = in, k
	defer func() {
		if next == len(hooks) {
			return
		}
		by := hooks[next].by
		next++
		if v := recover(); v != nil {
			by.panicked(ctx, *s, v)
		}
	}()
	for next < len(hooks) {
		derived, end := hooks[next].start(ctx, *s)
		if derived != nil {
			ctx = derived
		}
		if end != nil {
			e.push(ending[F]{end, hooks[next].by})
		}
		next++
	}
	return ctx, next
}

// Ends are the end hooks of one interval, kept by value in the call; three fit without an allocation. The zero value is
// empty, and so is one that has finished: it can be used for the next interval. It is for one goroutine at a time.
type Ends[F Event] struct {
	n      int
	inline [3]ending[F]
	more   []ending[F]
}

type ending[F Event] struct {
	tell func(F)
	by   *Subscriber
}

func (e *Ends[F]) push(end ending[F]) {
	if e.n < len(e.inline) {
		e.inline[e.n] = end
	} else {
		e.more = append(e.more, end)
	}
	e.n++
}

// Finish runs the end hooks in reverse order of their starts, each once, also if one panics or ends the goroutine.
// Finishing again does nothing.
func (e *Ends[F]) Finish(f F) {
	for e.n > 0 {
		e.run(&f)
	}
}

func (e *Ends[F]) run(f *F) {
	var running *Subscriber
	defer func() {
		if running == nil {
			return
		}
		if v := recover(); v != nil {
			running.panicked(context.Background(), *f, v)
			return
		}
		e.Finish(*f) // the hook ends the goroutine: the others still learn of the end
	}()
	for e.n > 0 {
		end := e.pop()
		running = end.by
		end.tell(*f)
		running = nil
	}
}

// pop takes the last end hook out, so that e holds nothing of it any more and can be used again.
func (e *Ends[F]) pop() (end ending[F]) {
	e.n--
	if e.n < len(e.inline) {
		end, e.inline[e.n] = e.inline[e.n], ending[F]{}
		return end
	}
	last := e.n - len(e.inline)
	end, e.more[last] = e.more[last], ending[F]{}
	e.more = e.more[:last]
	return end
}
