package events

import (
	"context"
	"errors"
	"sync"
)

// Buffered is a subscription that is served on a goroutine of its own: it never blocks a call. Make one with
// [NewBuffered], for every event, or [Topic.SubscribeBuffered], for those of one type.
type Buffered struct {
	queue interface {
		droppedSoFar() uint64
		close(context.Context) error
	}
	cancel func()
}

// NewBuffered delivers every event of bus to handle, in order, one at a time, on a goroutine that lives while there is
// something to deliver. At most size events wait (at least 1), beside the warnings from before it subscribed; more are
// dropped and counted. The handler's context has the values of the call's, and is never done.
func NewBuffered(bus *Bus, size int, handle func(context.Context, Event)) *Buffered {
	if handle == nil {
		panic("events: nil handler for NewBuffered")
	}
	if bus == nil {
		panic("events: nil bus for NewBuffered")
	}
	q := newQueue(&bus.hub, size, handle)
	return &Buffered{queue: q, cancel: bus.Subscribe(q.put)}
}

var errNilContext = errors.New("events: the context is nil")

// Dropped returns how many events found the queue full.
func (b *Buffered) Dropped() uint64 { return b.queue.droppedSoFar() }

// Cancel ends the subscription and does not wait: what is queued is still delivered, and so are the ends of calls that are
// still running.
func (b *Buffered) Cancel() { b.cancel() }

// Close ends the subscription, waits until what is queued has been delivered, and returns nil; or the context's error,
// if that ends first. Once it has returned nil the handler is not called again, not even with the ends of calls that are
// still running. Closing again waits again. Called from inside the handler it would wait for itself: use a context that
// ends.
func (b *Buffered) Close(ctx context.Context) error {
	b.cancel()
	return b.queue.close(ctx)
}

// queue is a bounded queue with a worker that lives while there is something to do. It holds no channel, so one made
// outside a synctest bubble serves calls inside.
type queue[E Event] struct {
	by      *Subscriber
	handle  func(context.Context, E)
	size    int
	mu      sync.Mutex // guards what follows; not held while handle runs
	items   []item[E]
	working bool
	closed  bool // takes no more
	dropped uint64
	idle    []chan struct{} // those who wait for the worker's end
}

type item[E Event] struct {
	ctx context.Context
	e   E
}

func newQueue[E Event](h *hub, size int, handle func(context.Context, E)) *queue[E] {
	return &queue[E]{by: h.subscriber(), handle: handle, size: max(size, 1)}
}

func (q *queue[E]) droppedSoFar() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

func (q *queue[E]) put(ctx context.Context, e E) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if _, late := ctx.(replayed); !late && len(q.items) >= q.size {
		q.dropped++
		q.by.CountDropped()
		return
	}
	q.items = append(q.items, item[E]{ctx, e})
	if !q.working {
		q.working = true
		go q.work()
	}
}

// work delivers until the queue is empty. A handler that ends the goroutine is followed by another worker.
func (q *queue[E]) work() {
	finished := false
	defer func() {
		if !finished {
			go q.work()
		}
	}()
	for {
		q.mu.Lock()
		if len(q.items) == 0 {
			q.items, q.working = nil, false
			for _, c := range q.idle {
				close(c)
			}
			q.idle = nil
			q.mu.Unlock()
			finished = true
			return
		}
		i := q.items[0]
		q.items[0] = item[E]{}
		q.items = q.items[1:]
		q.mu.Unlock()
		q.one(i)
	}
}

func (q *queue[E]) one(i item[E]) {
	ctx := context.WithoutCancel(i.ctx)
	defer q.by.Guard(ctx, i.e)
	q.handle(ctx, i.e)
}

// close takes no more and waits for the worker's end.
func (q *queue[E]) close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	if !q.working {
		q.mu.Unlock()
		return nil
	}
	if ctx == nil {
		q.mu.Unlock()
		return errNilContext
	}
	done := make(chan struct{})
	q.idle = append(q.idle, done)
	q.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
