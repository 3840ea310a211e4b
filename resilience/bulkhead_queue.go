package resilience

import (
	"context"
	"time"

	"github.com/telltale-go/telltale/events"
)

// waiters is a queue of calls that wait for their turn. Its owner guards it.
type waiters struct {
	first, last *waiter
	n           int
}

type waiter struct {
	prev, next *waiter
	granted    bool
	ready      chan struct{} // closed when granted
}

func (q *waiters) push() *waiter {
	w := &waiter{prev: q.last, ready: make(chan struct{})}
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
	q.n++
	return w
}

func (q *waiters) remove(w *waiter) {
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	q.n--
}

// grantFirst hands a permit to the first who waits; false if nobody does.
func (q *waiters) grantFirst() bool {
	w := q.first
	if w == nil {
		return false
	}
	q.remove(w)
	w.granted = true
	close(w.ready)
	return true
}

// admitOrWait takes a permit, or a place in the queue until there is one.
func (b *Bulkhead) admitOrWait(ctx context.Context) error {
	b.mu.Lock()
	if b.used.Load() < b.max { // then nobody waits: whoever leaves hands over
		b.used.Add(1)
		b.mu.Unlock()
		return nil
	}
	if b.queue.n >= b.cfg.MaxQueue {
		b.mu.Unlock()
		return b.limited(events.ReasonFull)
	}
	w := b.queue.push()
	b.mu.Unlock()

	var expired <-chan time.Time // nil: never
	if b.cfg.MaxWait > 0 {
		timer := time.NewTimer(b.cfg.MaxWait)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-w.ready:
	case <-ctx.Done():
	case <-expired:
	}
	granted := b.stopWaiting(w)
	switch err := ctx.Err(); {
	case err != nil:
		if granted {
			b.leave()
		}
		return err
	case granted: // also if it came just in time
		return nil
	}
	return b.limited(events.ReasonQueueTimeout)
}

// stopWaiting tells whether the waiter was granted its permit; if not, it has left the queue.
func (b *Bulkhead) stopWaiting(w *waiter) (granted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !w.granted {
		b.queue.remove(w)
	}
	return w.granted
}
