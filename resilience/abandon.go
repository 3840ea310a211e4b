package resilience

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
)

// abandoning stands right inside a Timeout that abandons: it returns when the Timeout's context ends.
type abandoning[T any] struct {
	*timing
	next       Next[T]
	background *background
	discard    func(context.Context, Call, T)
	most       int64
	abandoned  atomic.Int64 // operations that run and that nobody waits for
}

func newAbandoning[T any](b *builder[T], l *timing, most int, next Next[T]) Next[T] {
	a := &abandoning[T]{timing: l, next: next, background: b.background, discard: b.discard, most: int64(most)}
	return a.run
}

// alone is a run of what is inside on a goroutine of its own.
type alone[T any] struct {
	caught[T]
	call  Call
	rec   record
	done  chan struct{} // closed when it has ended
	mu    sync.Mutex    // guards what follows
	ended bool          // before it was left
	left  bool
}

func (a *abandoning[T]) run(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
	if a.abandoned.Load() >= a.most {
		return v, a.refused(ctx, call, limited(a.name, events.TypeTimeout, events.ReasonFull,
			events.LimiterReading{Limit: a.most, Usage: a.abandoned.Load()}))
	}
	began := call.clock()
	r := &alone[T]{done: make(chan struct{})}
	r.call = call.fork(&r.rec)
	a.background.began()
	go a.apart(ctx, r, op)
	select {
	case <-r.done:
	case <-ctx.Done():
		if a.abandon(r) {
			if call.observed() {
				call.rec.working += time.Duration(now() - began)
			}
			call.left()
			return v, ctx.Err()
		}
		<-r.done
	}
	call.join(&r.rec)
	if r.panic != nil {
		panic(r.panic)
	}
	return r.v, r.err
}

// apart runs what is inside, on a goroutine of its own.
func (a *abandoning[T]) apart(ctx context.Context, r *alone[T], op Operation[T]) {
	defer a.background.ended()
	defer a.end(ctx, r)
	r.run(ctx, r.call, op, a.next)
}

// abandon leaves a run to itself, unless it has ended, or as many are left already as may be.
func (a *abandoning[T]) abandon(r *alone[T]) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.ended {
		n := a.abandoned.Load()
		if n >= a.most {
			return false
		}
		if a.abandoned.CompareAndSwap(n, n+1) {
			r.left = true
			return true
		}
	}
	return false
}

// end reports how a run ended, on its goroutine.
func (a *abandoning[T]) end(ctx context.Context, r *alone[T]) {
	r.mu.Lock()
	r.ended = !r.left
	r.mu.Unlock()
	if r.ended {
		close(r.done)
		return
	}
	defer a.abandoned.Add(-1)
	defer r.forsaken(ctx, r.call, a.place, a.discard)
	if a.bus.LateResult.Heard() {
		outcome, failure := attemptOutcome(ctx, r.err)
		a.bus.LateResult.Publish(ctx, events.LateResult{Meta: r.call.meta(a.source, r.call.Attempt()), Outcome: outcome, Err: failure})
	}
}
