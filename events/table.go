package events

import (
	"context"
	"sync"
	"sync/atomic"
)

// Table keeps one V for each live source: pipelines, their layers and shared state. It is how an adapter resolves its
// instruments once instead of at each event: Get is a bounds check and two loads. Events of a source that is gone find
// nothing. It is safe for concurrent use.
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
	source uint64
	value  *V
}

// NewTable calls open for each source that lives and each that comes, and drop (nil: nothing) when it goes; a pipeline first, then
// its layers in their order. For a source that is gone, drop's Source is a copy that reads no state. The bus holds sources weakly: a V
// must not hold its Source, or a dropped pipeline never leaves.
// open and drop run one at a time and must not use the table.
func NewTable[V any](bus *Bus, open func(*Source) *V, drop func(*Source, *V)) *Table[V] {
	t := &Table[V]{hub: &bus.hub, open: open, drop: drop}
	t.cancel = bus.Source.Observe(func(_ context.Context, e SourceAdded) func(context.Context, SourceRemoved) {
		t.Get(e.Source)
		for _, l := range e.Source.Layers() {
			t.Get(l)
		}
		return func(_ context.Context, e SourceRemoved) {
			for _, l := range e.Source.Layers() {
				t.remove(l)
			}
			t.remove(e.Source)
		}
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
	if t.closed || s.gone.Load() || s.hub != t.hub || s.index < 0 {
		return nil
	}
	rows := t.grow(s.index)
	if r := rows[s.index].Load(); r != nil && r.source == s.id {
		return r.value
	} else if r != nil {
		t.dropRow(&rows[s.index], nil, r) // its source's end is not told yet, but its index is used again
	}
	v := t.open(s)
	rows[s.index].Store(&row[V]{s.id, v})
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
	if t.closed || rows == nil || s.index >= len(*rows) {
		return
	}
	slot := &(*rows)[s.index]
	if r := slot.Load(); r != nil && r.source == s.id {
		t.dropRow(slot, s, r)
	}
}

func (t *Table[V]) dropRow(slot *atomic.Pointer[row[V]], s *Source, r *row[V]) {
	slot.Store(nil)
	if t.drop != nil {
		t.drop(s, r.value)
	}
}

// All calls yield for each V, in the order of the sources' indexes, until it returns false. A V added meanwhile may be missed.
func (t *Table[V]) All(yield func(*V) bool) {
	rows := t.rows.Load()
	if rows == nil {
		return
	}
	for i := range *rows {
		if r := (*rows)[i].Load(); r != nil && !yield(r.value) {
			return
		}
	}
}

// Close drops every row and ends the table's subscription. Get returns nil from then on.
func (t *Table[V]) Close() {
	t.cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	rows := t.rows.Load()
	if rows == nil {
		return
	}
	for i := range *rows {
		if r := (*rows)[i].Load(); r != nil {
			t.dropRow(&(*rows)[i], nil, r)
		}
	}
}
