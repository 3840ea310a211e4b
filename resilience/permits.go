package resilience

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
)

// permits let so many calls run at once, and have others wait for their turn if there is a queue. They are given and
// returned without a lock as long as nobody waits.
//
// While somebody waits, no permit is to be had, and whoever returns one hands it over: so those who come never overtake
// those who wait, and as soon as one could go, it goes.
type permits struct {
	max  atomic.Int64
	word atomic.Uint64 // how many calls run; in the upper half, how many wait, which changes under mu

	maxQueue int
	maxWait  time.Duration // 0: as long as the context lives

	mu      sync.Mutex // guards what follows, and changes of max; never held while a handler runs
	queue   waiters
	changes changes
}

// oneWaits is one call that waits, in permits.word.
const oneWaits = 1 << 32

// take takes a permit if there is one.
func (p *permits) take() bool { return p.takeWithin(p.max.Load()) }

// takeWithin takes a permit if fewer calls than that run.
func (p *permits) takeWithin(limit int64) bool {
	for {
		w := p.word.Load()
		if w >= oneWaits || int64(w) >= limit {
			return false
		}
		if p.word.CompareAndSwap(w, w+1) {
			return true
		}
	}
}

// leave returns a permit: to the first who waits, if anybody does.
func (p *permits) leave() {
	if p.maxQueue == 0 {
		p.word.Add(^uint64(0))
		return
	}
	for {
		w := p.word.Load()
		if w >= oneWaits {
			p.handOver()
			return
		}
		if p.word.CompareAndSwap(w, w-1) {
			return
		}
	}
}

func (p *permits) handOver() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.word.Add(^uint64(0))
	p.grant()
}

// grant lets those go who may. mu is held.
func (p *permits) grant() {
	for p.queue.n > 0 && p.running() < p.max.Load() && p.queue.grantFirst() {
		p.word.Add(^uint64(oneWaits - 2)) // one runs who has waited
	}
}

func (p *permits) running() int64 { return int64(p.word.Load() % oneWaits) }

// reading is one moment's.
func (p *permits) reading() events.LimiterReading {
	w := p.word.Load()
	return events.LimiterReading{Limit: p.max.Load(), Usage: int64(w % oneWaits), Queued: int64(w / oneWaits)}
}

// limit sets how many calls may run, which lets those go who may now. mu is held.
func (p *permits) limit(n int64) (before int64) {
	before = p.max.Load()
	p.max.Store(n)
	p.grant()
	return before
}

// wait takes a permit, or a place in the queue until there is one. The reason is why it has none, 0 if it has; the error
// is the context's.
func (p *permits) wait(ctx context.Context) (events.Reason, error) {
	if p.maxQueue == 0 {
		return events.ReasonFull, nil
	}
	w, reason := p.enter(PriorityOf(ctx))
	if w == nil {
		return reason, nil
	}
	var expired <-chan time.Time // nil: never
	if p.maxWait > 0 {
		timer := time.NewTimer(p.maxWait)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-w.ready:
	case <-ctx.Done():
	case <-expired:
	}
	state := p.stopWaiting(w)
	if err := ctx.Err(); err != nil {
		if state == wasGranted {
			p.leave()
		}
		return 0, err
	}
	switch state {
	case wasGranted: // also if it came just in time
		return 0, nil
	case wasShed:
		return events.ReasonShed, nil
	default:
		return events.ReasonQueueTimeout, nil
	}
}

// enter returns a place in the queue; nil if there is a permit by now, or no place, for which there is a reason.
func (p *permits) enter(priority Priority) (*waiter, events.Reason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.take() {
			return nil, 0
		}
		if p.queue.n >= p.maxQueue {
			if !p.queue.shedBelow(priority) {
				return nil, events.ReasonFull
			}
			return p.queue.push(priority), 0 // one has come, and one has gone
		}
		w := p.word.Load()
		if (w >= oneWaits || int64(w) >= p.max.Load()) && p.word.CompareAndSwap(w, w+oneWaits) {
			return p.queue.push(priority), 0
		}
	}
}

// stopWaiting tells how the wait ended; if it did not, the waiter has left the queue.
func (p *permits) stopWaiting(w *waiter) waiterState {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.state == waitsStill {
		p.queue.remove(w)
		p.word.Add(^uint64(oneWaits - 1)) // one less
	}
	return w.state
}
