package events

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Warnings distributes [ConfigWarning]s. They come about when something is built, mostly before anybody listens: each is
// kept with its source, for those who subscribe later, as long as the source lives. Every subscriber gets each warning
// once. Its methods are safe for concurrent use, also from inside its handlers.
type Warnings struct {
	hub     *hub
	sources *Lifetimes
	mu      sync.Mutex // guards hearers and changes of Source.warnings; never held while a handler runs
	hearers []*hearer  // never changed in place, but for appending
}

const (
	// maxKept is how many warnings are kept of one source. More are told, and not kept.
	maxKept = 32
	// maxUnheard is how many warnings wait for a slow subscriber before more are dropped and counted ([Bus.Dropped]).
	maxUnheard = 1024
)

// Subscribe calls handle for each warning that is kept, before it returns, and for each that comes. The calls come one at a
// time, inside what warns or, where one is running already, on another goroutine soon after. The context of a warning
// that was kept has no values. After cancel handle is not called; a call under way may go on.
func (w *Warnings) Subscribe(handle func(context.Context, ConfigWarning)) (cancel func()) {
	if !w.hub.accepts(handle == nil, ConfigWarning{}.EventName()) {
		return func() {}
	}
	h := &hearer{by: w.hub.subscriber(), handle: handle}
	w.mu.Lock()
	for _, s := range w.sources.list() {
		for _, e := range s.Warnings() {
			h.box.Put(heardWarning{replayed{context.Background()}, e}, 0)
		}
	}
	w.hearers = append(w.hearers, h)
	h.box.Deliver(&w.mu, h.deliver)
	return sync.OnceFunc(func() {
		h.canceled.Store(true)
		w.mu.Lock()
		w.hearers = slices.DeleteFunc(slices.Clone(w.hearers), func(o *hearer) bool { return o == h })
		w.mu.Unlock()
	})
}

// SubscribeBuffered is Subscribe on a goroutine of its own, as [Topic.SubscribeBuffered] is. What was kept comes on top of
// size: none of it is dropped.
func (w *Warnings) SubscribeBuffered(size int, handle func(context.Context, ConfigWarning)) *Buffered {
	if !w.hub.accepts(handle == nil, ConfigWarning{}.EventName()) {
		return &Buffered{queue: newQueue(w.hub, size, handle), cancel: func() {}}
	}
	q := newQueue(w.hub, size, handle)
	return &Buffered{queue: q, cancel: w.Subscribe(q.put)}
}

// Publish keeps a warning with its source (a layer's with its pipeline) and tells the subscribers. It is for layers and
// pipelines; there is no need to ask who listens. A warning without a source, or of a source that is gone, is only told.
func (w *Warnings) Publish(ctx context.Context, e ConfigWarning) {
	w.mu.Lock()
	if s := e.Source; s != nil && s.hub == w.hub && !s.left() {
		s.keep(e)
	}
	hearers := w.hearers
	for _, h := range hearers {
		if !h.box.Put(heardWarning{ctx, e}, maxUnheard) {
			h.by.CountDropped()
		}
	}
	w.mu.Unlock()
	each(hearers, func(h *hearer) {
		w.mu.Lock()
		h.box.Deliver(&w.mu, h.deliver)
	})
}

// keep adds a warning to those of the source. Warnings.mu is held.
func (s *Source) keep(e ConfigWarning) {
	if s.whole != nil {
		s = s.whole
	}
	if kept := s.Warnings(); len(kept) < maxKept {
		kept = append(slices.Clip(kept), e)
		s.warnings.Store(&kept)
	}
}

// Warnings returns the warnings that are kept of the source, and of its layers if it is a pipeline: the first 32. The slice
// must not be changed.
func (s *Source) Warnings() []ConfigWarning {
	if p := s.warnings.Load(); p != nil {
		return *p
	}
	return nil
}

// hearer is one subscriber. Its outbox gives it warnings one at a time, in order.
type hearer struct {
	by       *Subscriber
	handle   func(context.Context, ConfigWarning)
	canceled atomic.Bool
	box      Outbox[heardWarning] // guarded by Warnings.mu
}

type heardWarning struct {
	ctx context.Context
	e   ConfigWarning
}

func (h *hearer) deliver(w heardWarning) {
	if h.canceled.Load() {
		return
	}
	defer h.by.Guard(w.ctx, w.e)
	h.handle(w.ctx, w.e)
}

// replayed is the context of what a late subscriber is told: no queue has to drop that.
type replayed struct{ context.Context }
