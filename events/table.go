package events

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Table keeps one V for each live source: pipelines, their layers and shared state. It is how an adapter resolves its
// instruments once instead of at each event: Get is a bounds check and two loads. Events of a source that is gone find
// nothing. Make one with [NewTable]; its methods are safe for concurrent use.
type Table[V any] struct {
	hub    *hub
	open   func(*Source) *V
	drop   func(*Source, *V)
	rows   atomic.Pointer[[]atomic.Pointer[row[V]]] // by Source.Index; replaced when it grows
	mu     sync.Mutex                               // guards changes of rows, and open and drop against each other
	closed bool
	cancel func()
}

type row[V any] struct {
	source uint64  // its id: indexes are used again
	rest   *Source // what drop is told; the source itself must not be held
	value  *V      // nil: open declined
}

// NewTable calls open for each source that lives and each that comes: a pipeline first, then its layers in their order,
// unless an event is quicker than the news of its source. It calls drop (nil: nothing) once for each V, when its source
// goes or the table is closed. Where open returns nil nothing is kept.
//
// The bus holds sources weakly: a V must not hold its Source, or a dropped pipeline never leaves. Drop gets a copy of the
// source that reads no state, since the source may be collected by then.
//
// Open and drop run one at a time, inside Get, Close, or the making and removing of sources. They must not use the table,
// nor make or remove sources. A V may be dropped while whoever got it still uses it.
func NewTable[V any](bus *Bus, open func(*Source) *V, drop func(*Source, *V)) *Table[V] {
	if bus == nil {
		panic("events: nil bus for NewTable")
	}
	t := &Table[V]{hub: &bus.hub, open: open, drop: drop, cancel: func() {}}
	if !bus.Source.hub.accepts(open == nil, "NewTable") {
		return t
	}
	t.cancel = bus.Source.observe(func(_ context.Context, e SourceAdded) {
		t.Get(e.Source)
		for _, l := range e.Source.Layers() {
			t.Get(l)
		}
	}, func(_ context.Context, e SourceRemoved) {
		each(append(slices.Clone(e.Source.Layers()), e.Source), t.remove)
	})
	return t
}

// Get returns the source's V; nil for a nil source, for one that is gone or on another bus, and after Close.
func (t *Table[V]) Get(s *Source) *V {
	if s == nil {
		return nil
	}
	if rows := t.rows.Load(); rows != nil && uint(s.index) < uint(len(*rows)) {
		if r := (*rows)[s.index].Load(); r != nil && r.source == s.id {
			return r.value
		}
	}
	return t.make(s)
}

// make adds the row of a source whose event came before the news of it.
func (t *Table[V]) make(s *Source) *V {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || s.left() || s.hub != t.hub || s.index < 0 {
		return nil
	}
	slot := &t.grow(int(s.index))[s.index]
	if r := slot.Load(); r != nil && r.source == s.id {
		return r.value
	}
	t.take(slot) // its source's end is not told yet, but its index is used again
	v := t.open(s)
	slot.Store(&row[V]{s.id, s.remains(), v})
	return v
}

// grow returns rows that reach to index. mu is held.
func (t *Table[V]) grow(index int) []atomic.Pointer[row[V]] {
	var old []atomic.Pointer[row[V]]
	if p := t.rows.Load(); p != nil {
		old = *p
	}
	if index < len(old) {
		return old
	}
	grown := make([]atomic.Pointer[row[V]], max(index+1, 2*len(old), 16))
	for i := range old {
		grown[i].Store(old[i].Load())
	}
	t.rows.Store(&grown)
	return grown
}

func (t *Table[V]) remove(s *Source) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := t.rows.Load()
	if rows == nil || uint(s.index) >= uint(len(*rows)) {
		return
	}
	slot := &(*rows)[s.index]
	if r := slot.Load(); r != nil && r.source == s.id {
		t.take(slot)
	}
}

// take empties a slot. mu is held.
func (t *Table[V]) take(slot *atomic.Pointer[row[V]]) {
	if r := slot.Swap(nil); r != nil && r.value != nil && t.drop != nil {
		t.drop(r.rest, r.value)
	}
}

// All calls yield for each V, in the order of the sources' indexes, until it returns false. A V that comes meanwhile may
// be missed.
func (t *Table[V]) All(yield func(*V) bool) {
	rows := t.rows.Load()
	if rows == nil {
		return
	}
	for i := range *rows {
		if r := (*rows)[i].Load(); r != nil && r.value != nil && !yield(r.value) {
			return
		}
	}
}

// Close drops every row and ends the table's subscription. Get returns nil from then on. Closing again does nothing.
func (t *Table[V]) Close() {
	t.cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	rows := t.rows.Swap(nil)
	if rows == nil {
		return
	}
	slots := make([]*atomic.Pointer[row[V]], len(*rows))
	for i := range slots {
		slots[i] = &(*rows)[i]
	}
	each(slots, t.take)
}
