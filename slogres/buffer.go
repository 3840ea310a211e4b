package slogres

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/telltale-go/telltale/events"
)

// buffer writes events in order, one at a time, on a goroutine that lives while there are any. It stands behind the
// check of the level: a buffered subscription to the whole bus would queue, and drop for, what is not logged anyway.
type buffer struct {
	by    *events.Subscriber
	size  int
	write func(context.Context, entry)

	mu      sync.Mutex // guards what follows; not held while write runs
	box     events.Outbox[entry]
	waiting int           // entries in box, and the one that is being written
	closed  bool          // what comes, or still waits, is not written
	idle    chan struct{} // closed when nothing waits; made by close, nil before
}

// entry is an event that waits for its record, or the record of a summary with the zero event of its type.
type entry struct {
	ctx     context.Context
	e       events.Event
	summary *slog.Record
}

// put queues an entry, or drops and counts it.
func (b *buffer) put(i entry) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return
	}
	if !b.box.Put(i, b.size) {
		b.mu.Unlock()
		b.by.CountDropped()
		return
	}
	b.waiting++
	b.box.HandOver(&b.mu, b.deliver) // releases mu
}

// deliver writes one entry. The outbox goes on after a Goexit.
func (b *buffer) deliver(i entry) {
	ctx := context.WithoutCancel(i.ctx)
	defer b.delivered()
	defer b.by.Guard(ctx, i.e)
	if b.isClosed() {
		b.by.CountDropped()
		return
	}
	b.write(ctx, i)
}

func (b *buffer) delivered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting--
	if b.waiting == 0 && b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
}

func (b *buffer) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// close waits until what is queued is written, at most for limit, and has the rest dropped. It is called once.
func (b *buffer) close(limit time.Duration) {
	b.mu.Lock()
	if b.waiting > 0 {
		idle := make(chan struct{})
		b.idle = idle
		b.mu.Unlock()
		timer := time.NewTimer(limit)
		select {
		case <-idle:
		case <-timer.C:
		}
		timer.Stop()
		b.mu.Lock()
	}
	b.closed = true
	b.mu.Unlock()
}
