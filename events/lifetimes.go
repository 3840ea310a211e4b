package events

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"
)

// Lifetimes distributes which sources come and go. The bus holds them weakly: a pipeline that is dropped without being
// closed leaves by itself when it is collected.
type Lifetimes struct {
	hub      *hub
	mu       sync.Mutex // guards what follows; never held while a handler runs
	live     map[uint64]*lifetime
	watchers []*watcher
}

type lifetime struct {
	source  weak.Pointer[Source]
	rest    *Source // what is told of it when it is gone: a copy that reads nothing
	cleanup runtime.Cleanup
}

// indexes are given out process-wide, so that a source's index is its own whatever bus it is on.
var indexes indexPool

type indexPool struct {
	mu   sync.Mutex
	next int
	free []int
}

func (p *indexPool) take() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		i := p.free[n-1]
		p.free = p.free[:n-1]
		return i
	}
	p.next++
	return p.next - 1
}

func (p *indexPool) give(i int) {
	p.mu.Lock()
	p.free = append(p.free, i)
	p.mu.Unlock()
}

var lastSource atomic.Uint64

// NewSource makes a source, with those of its layers, and tells the observers of [Bus.Source]. The caller keeps it for as long
// as it publishes; [Bus.Remove] ends it, and so does the garbage collector.
func (b *Bus) NewSource(spec SourceSpec) *Source {
	s := b.newSource(spec)
	for _, l := range spec.Layers {
		s.layers = append(s.layers, b.newSource(l))
	}
	b.Source.add(s)
	return s
}

func (b *Bus) newSource(spec SourceSpec) *Source {
	s := &Source{hub: &b.hub, id: lastSource.Add(1), index: -1, spec: spec}
	s.spec.Layers = nil
	if !b.hub.off {
		s.index = indexes.take()
	}
	return s
}

// Remove tells the observers that the source is gone. Removing again does nothing.
func (b *Bus) Remove(s *Source) {
	for _, l := range s.layers {
		l.gone.Store(true)
	}
	s.gone.Store(true)
	b.Source.remove(s.id, func(w *watcher) { w.box.Deliver(&b.Source.mu, w.deliver) })
}

// remains is the copy of a source that is told when it is gone.
func remains(s *Source) *Source {
	r := &Source{hub: s.hub, id: s.id, index: s.index, spec: s.spec}
	r.spec.Breaker, r.spec.Limiter, r.spec.Shared = nil, nil, nil
	r.gone.Store(true)
	for _, l := range s.layers {
		r.layers = append(r.layers, remains(l))
	}
	return r
}

func (l *Lifetimes) add(s *Source) {
	if l.hub.off {
		return
	}
	life := &lifetime{source: weak.Make(s), rest: remains(s)}
	life.cleanup = runtime.AddCleanup(s, func(id uint64) {
		l.remove(id, func(w *watcher) { w.box.HandOver(&l.mu, w.deliver) })
	}, s.id)
	l.mu.Lock()
	if l.live == nil {
		l.live = make(map[uint64]*lifetime)
	}
	l.live[s.id] = life
	l.tell(change{added: s}, func(w *watcher) { w.box.Deliver(&l.mu, w.deliver) })
}

func (l *Lifetimes) remove(id uint64, deliver func(*watcher)) {
	l.mu.Lock()
	life, ok := l.live[id]
	if !ok {
		l.mu.Unlock()
		return
	}
	delete(l.live, id)
	life.cleanup.Stop()
	l.tell(change{removed: life.rest}, deliver)
	for _, r := range life.rest.layers {
		indexes.give(r.index)
	}
	indexes.give(life.rest.index)
}

// tell queues a change for every watcher under the lock, so that all see one order, then delivers. mu is held on entry
// and released on return.
func (l *Lifetimes) tell(c change, deliver func(*watcher)) {
	c.at = time.Now()
	for _, w := range l.watchers {
		w.box.Put(c, 0)
	}
	watchers := slices.Clone(l.watchers)
	l.mu.Unlock()
	l.deliver(watchers, deliver)
}

// deliver lets each watcher have what is queued for it, also when the handler of one ends the goroutine.
func (l *Lifetimes) deliver(watchers []*watcher, deliver func(*watcher)) {
	defer func() {
		if len(watchers) > 0 {
			l.deliver(watchers, deliver)
		}
	}()
	for len(watchers) > 0 {
		w := watchers[0]
		watchers = watchers[1:]
		l.mu.Lock()
		deliver(w) // releases mu
	}
}

func (l *Lifetimes) list() []*Source {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.living()
}

// living returns the live sources in the order in which they were made. mu is held.
func (l *Lifetimes) living() []*Source {
	var all []*Source
	for _, life := range l.live {
		if s := life.source.Value(); s != nil {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *Source) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return all
}

// Observe calls added for each source that lives, before it returns, and for each that comes; the function that added
// returns (nil: none) is called when that source goes. No source is told twice or missed, and an observer learns of a
// source's end after its beginning. After cancel neither is called.
func (l *Lifetimes) Observe(added func(context.Context, SourceAdded) func(context.Context, SourceRemoved)) (cancel func()) {
	if !l.hub.accepts(added == nil, SourceAdded{}.EventName()) {
		return func() {}
	}
	w := &watcher{hub: l.hub, added: added, ends: map[uint64]func(context.Context, SourceRemoved){}}
	l.mu.Lock()
	now := time.Now()
	for _, s := range l.living() {
		w.box.Put(change{added: s, at: now}, 0)
	}
	l.watchers = append(l.watchers, w)
	w.box.Deliver(&l.mu, w.deliver)
	return sync.OnceFunc(func() {
		w.canceled.Store(true)
		l.mu.Lock()
		l.watchers = slices.DeleteFunc(slices.Clone(l.watchers), func(o *watcher) bool { return o == w })
		l.mu.Unlock()
	})
}

// change is one coming or going.
type change struct {
	added, removed *Source
	at             time.Time
}

// watcher is one observer. Its outbox gives it changes one at a time, in order.
type watcher struct {
	hub      *hub
	added    func(context.Context, SourceAdded) func(context.Context, SourceRemoved)
	canceled atomic.Bool
	box      Outbox[change]                                  // guarded by Lifetimes.mu
	ends     map[uint64]func(context.Context, SourceRemoved) // used by who delivers, one at a time
}

func (w *watcher) deliver(c change) {
	if w.canceled.Load() {
		return
	}
	ctx := context.Background()
	if s := c.added; s != nil {
		e := SourceAdded{Meta{Source: s, At: c.at}}
		defer w.hub.guard(ctx, e)
		if end := w.added(ctx, e); end != nil {
			w.ends[s.id] = end
		}
		return
	}
	end := w.ends[c.removed.id]
	if end == nil {
		return
	}
	delete(w.ends, c.removed.id)
	e := SourceRemoved{Meta{Source: c.removed, At: c.at}}
	defer w.hub.guard(ctx, e)
	end(ctx, e)
}
