package events

import "sync"

// Outbox delivers events in the order in which they were put, outside the lock under which they came about, to one
// receiver at a time, without a goroutine of its own and without making one call work long for others: the goroutine
// that finds nobody delivering delivers what is there by then and hands what comes later to a short-lived goroutine.
//
// Its owner's mutex guards it; the zero value is empty and ready.
//
//	b.mu.Lock()
//	... change the state, b.box.Put(event, 256)
//	b.box.Deliver(&b.mu, b.publish) // releases b.mu
type Outbox[E any] struct {
	queue   []E
	busy    bool // somebody delivers
	dropped uint64
}

// Put appends an event. It is called with the owner's mutex held. With limit > 0 and that many waiting, the event is
// dropped, counted, and Put returns false.
func (o *Outbox[E]) Put(e E, limit int) bool {
	if limit > 0 && len(o.queue) >= limit {
		o.dropped++
		return false
	}
	o.queue = append(o.queue, e)
	return true
}

// Dropped returns how many events were dropped. It is called with the owner's mutex held.
func (o *Outbox[E]) Dropped() uint64 { return o.dropped }

// Deliver is called with mu held and returns with mu released. If nobody delivers, it calls deliver, without mu, for
// what is queued. Deliver recovers nothing: deliver must not panic; a runtime.Goexit in it is survived.
func (o *Outbox[E]) Deliver(mu *sync.Mutex, deliver func(E)) {
	if o.busy || len(o.queue) == 0 {
		mu.Unlock()
		return
	}
	o.busy = true
	o.drain(mu, deliver, len(o.queue))
}

// HandOver is Deliver on a goroutine of its own, for callers that must not run handlers.
func (o *Outbox[E]) HandOver(mu *sync.Mutex, deliver func(E)) {
	if !o.busy && len(o.queue) > 0 {
		o.busy = true
		go o.resume(mu, deliver)
	}
	mu.Unlock()
}

// drain delivers n events, then passes on what is left. mu is held on entry and released on return.
func (o *Outbox[E]) drain(mu *sync.Mutex, deliver func(E), n int) {
	delivering := false
	defer func() {
		if delivering { // deliver ended the goroutine
			mu.Lock()
		}
		if len(o.queue) == 0 {
			o.queue, o.busy = nil, false
		} else {
			go o.resume(mu, deliver)
		}
		mu.Unlock()
	}()
	for ; n > 0 && len(o.queue) > 0; n-- {
		e := o.queue[0]
		var zero E
		o.queue[0] = zero
		o.queue = o.queue[1:]
		mu.Unlock()
		delivering = true
		deliver(e)
		delivering = false
		mu.Lock()
	}
}

// resume delivers until the queue is empty.
func (o *Outbox[E]) resume(mu *sync.Mutex, deliver func(E)) {
	mu.Lock()
	o.drain(mu, deliver, int(^uint(0)>>1))
}
