package events

import (
	"cmp"
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
	hub       *hub
	mu        sync.Mutex // guards what follows; never held while a handler runs
	live      map[uint64]*lifetime
	watchers  []*watcher
	namesakes map[identity]*namesakes
}

type lifetime struct {
	source  weak.Pointer[Source]
	of      *remnant // what is told of it when it is gone
	layers  []*remnant
	cleanup runtime.Cleanup
}

var lastSource atomic.Uint64

// NewSource makes a source, with those of its layers, and tells the observers of [Bus.Source]. The caller keeps it for as
// long as it publishes; [Bus.Remove] ends it, and so does the garbage collector, when neither it nor one of its layers is
// held any more.
func (b *Bus) NewSource(spec SourceSpec) *Source {
	s := b.newSource(spec)
	if len(spec.Layers) > 0 {
		layers := make([]*Source, len(spec.Layers))
		for i, l := range spec.Layers {
			layers[i] = b.newSource(l)
			layers[i].whole = s
		}
		s.layers = &layers
	}
	if !b.hub.off {
		b.warnOfNamesakes(s, b.Source.add(s))
	}
	return s
}

func (b *Bus) newSource(spec SourceSpec) *Source {
	of := &remnant{identity: identity{spec.Pipeline, spec.Layer, spec.Type}, id: lastSource.Add(1), index: -1,
		position: int16(spec.Position), namesakes: spec.Namesakes, settings: spec.SettingsOf}
	if of.settings == nil && spec.Settings != "" {
		of.settings = text(spec.Settings)
	}
	s := &Source{remnant: of, hub: &b.hub, shared: spec.Shared, reads: spec.reads()}
	if !b.hub.off {
		of.index = int32(indexes.take())
	}
	return s
}

// Remove tells the observers that a pipeline or a shared layer is gone. Removing again does nothing, nor does removing a
// pipeline's layer, or a source of another bus.
func (b *Bus) Remove(s *Source) {
	if s == nil {
		return
	}
	b.Source.remove(s.id, func(w *watcher) { w.box.Deliver(&b.Source.mu, w.deliver) })
}

// add lists a source, and tells whether there is something to warn of: see meet.
func (l *Lifetimes) add(s *Source) (warning string) {
	life := &lifetime{source: weak.Make(s), of: s.remnant, layers: remnants(s.Layers())}
	life.cleanup = runtime.AddCleanup(s, func(id uint64) {
		l.remove(id, func(w *watcher) { w.box.HandOver(&l.mu, w.deliver) })
	}, s.id)
	l.mu.Lock()
	if l.live == nil {
		l.live = make(map[uint64]*lifetime)
	}
	l.live[s.id] = life
	warning = l.meet(s)
	l.tell(change{added: s}, func(w *watcher) { w.box.Deliver(&l.mu, w.deliver) })
	return warning
}

func (l *Lifetimes) remove(id uint64, deliver func(*watcher)) {
	l.mu.Lock()
	life, ok := l.live[id]
	if !ok {
		l.mu.Unlock()
		return
	}
	delete(l.live, id)
	l.part(life.of)
	if s := life.source.Value(); s != nil {
		s.gone.Store(true) // before anybody is told: no table may open a row for it again
	}
	life.cleanup.Stop()
	defer func() { // also when a handler ends the goroutine
		indexes.give(int(life.of.index))
		for _, layer := range life.layers {
			indexes.give(int(layer.index))
		}
	}()
	l.tell(change{removed: removed(l.hub, life.of, life.layers)}, deliver)
}

// tell queues a change for every watcher under the lock, so that all see one order, then lets each have what is queued for
// it. mu is held on entry and released on return.
func (l *Lifetimes) tell(c change, deliver func(*watcher)) {
	c.at = time.Now()
	watchers := l.watchers // never changed in place, but for appending
	for _, w := range watchers {
		w.box.Put(c, 0)
	}
	l.mu.Unlock()
	each(watchers, func(w *watcher) {
		l.mu.Lock()
		deliver(w) // releases mu
	})
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
	slices.SortFunc(all, func(a, b *Source) int { return cmp.Compare(a.id, b.id) })
	return all
}

// Observe calls added for each source that lives, before it returns, and for each that comes; the function that added
// returns (nil: none) is called when that source goes. No source is told twice or missed, and an observer learns of a
// source's end after its beginning. After cancel neither is called; one under way may go on.
//
// The functions run one at a time, inside the call that makes or removes the source, or, where one is running already or
// the source was collected, on another goroutine soon after.
func (l *Lifetimes) Observe(added func(context.Context, SourceAdded) func(context.Context, SourceRemoved)) (cancel func()) {
	if !l.hub.accepts(added == nil, SourceAdded{}.EventName()) {
		return func() {}
	}
	ends := map[uint64]func(context.Context, SourceRemoved){} // used by who delivers, one at a time
	return l.observe(func(ctx context.Context, e SourceAdded) {
		if end := added(ctx, e); end != nil {
			ends[e.Source.id] = end
		}
	}, func(ctx context.Context, e SourceRemoved) {
		if end := ends[e.Source.id]; end != nil {
			delete(ends, e.Source.id)
			end(ctx, e)
		}
	})
}

// observe is Observe with removed for every source that goes, also for one that added panicked on, or never heard of.
func (l *Lifetimes) observe(added func(context.Context, SourceAdded), removed func(context.Context, SourceRemoved)) (cancel func()) {
	w := &watcher{by: l.hub.subscriber(), added: added, removed: removed}
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
	by       *Subscriber
	added    func(context.Context, SourceAdded)
	removed  func(context.Context, SourceRemoved)
	canceled atomic.Bool
	box      Outbox[change] // guarded by Lifetimes.mu
}

func (w *watcher) deliver(c change) {
	if w.canceled.Load() {
		return
	}
	ctx := context.Background()
	if c.added != nil {
		e := SourceAdded{Meta{Source: c.added, At: c.at}}
		defer w.by.Guard(ctx, e)
		w.added(ctx, e)
		return
	}
	e := SourceRemoved{Meta{Source: c.removed, At: c.at}}
	defer w.by.Guard(ctx, e)
	w.removed(ctx, e)
}
