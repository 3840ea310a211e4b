package resilience

import (
	"context"
	"fmt"
)

// flight is one run that the callers of one key wait for. It is the context of its run, in which a call made inside finds it.
type flight[T any] struct {
	aloft
	cancel context.CancelCauseFunc // nil if no caller can leave but followers
	key    string
	leader uint64 // the leader's execution, 0: nobody listened when it began

	valueless bool // of Run

	// What follows is guarded by joining.mu; landing is not changed any more once done is closed.
	landed  bool
	waiting int32
	done    chan struct{} // closed when it has landed; nil if nobody waits for that
	landing *landing[T]   // nil if nobody waits for it
}

// Value implements [context.Context].
func (f *flight[T]) Value(key any) any {
	if _, ok := key.(aloftKey); ok {
		return &f.aloft
	}
	return f.Context.Value(key)
}

// String keeps fmt from reading the fields, which others write.
func (f *flight[T]) String() string { return fmt.Sprintf("%v.singleflight", f.Context) }

// end ends the context of a flight that has landed, unless its value is held.
func (f *flight[T]) end() {
	if f.cancel != nil && f.landing.hold == nil {
		f.cancel(nil)
	}
}

// flights are those under way, by their keys. Mostly there is one at a time: it needs no map.
type flights[T any] struct {
	first *flight[T]
	more  map[string]*flight[T]
	most  int // how large more has been
}

// muchRoom is how many flights at a time a map may have room for when it is empty.
const muchRoom = 64

func (t *flights[T]) find(key string) *flight[T] {
	if t.first != nil && t.first.key == key {
		return t.first
	}
	return t.more[key]
}

func (t *flights[T]) add(f *flight[T]) {
	if t.first == nil {
		t.first = f
		return
	}
	if t.more == nil {
		t.more = make(map[string]*flight[T])
	}
	t.more[f.key] = f
	t.most = max(t.most, len(t.more))
}

// remove takes f out, and tells whether it was still in.
func (t *flights[T]) remove(f *flight[T]) bool {
	if t.first == f {
		t.first = nil
		return true
	}
	if t.more[f.key] != f {
		return false
	}
	delete(t.more, f.key)
	if len(t.more) == 0 && t.most > muchRoom {
		t.more, t.most = nil, 0
	}
	return true
}
