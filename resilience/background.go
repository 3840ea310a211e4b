package resilience

import (
	"context"
	"runtime/debug"
	"sync"
)

// background counts the goroutines that a pipeline has started. It holds no channel but those of who waits at present.
type background struct {
	mu      sync.Mutex // guards what follows
	running int
	waiting []chan struct{} // closed when nothing runs
}

// run runs f on a goroutine of its own; it must not panic (see [caught]).
func (b *background) run(f func()) {
	b.began()
	go func() {
		defer b.ended()
		f()
	}()
}

// began counts a goroutine that is about to be started, and defers ended.
func (b *background) began() {
	b.mu.Lock()
	b.running++
	b.mu.Unlock()
}

func (b *background) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running
}

func (b *background) ended() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running--; b.running == 0 {
		for _, ch := range b.waiting {
			close(ch)
		}
		b.waiting = nil
	}
}

// wait returns when nothing runs, or with the error of ctx.
func (b *background) wait(ctx context.Context) error {
	b.mu.Lock()
	if b.running == 0 {
		b.mu.Unlock()
		return nil
	}
	idle := make(chan struct{})
	b.waiting = append(b.waiting, idle)
	b.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// caught is how a run on a goroutine of the pipeline's ended.
type caught[T any] struct {
	v     T
	err   error
	panic *PanicError // it panicked; err is the same
}

// catch runs next such that neither a panic nor Goexit leaves it, and hands how it ended to end, on the same goroutine.
func catch[T any](ctx context.Context, call Call, op Operation[T], next Next[T], end func(caught[T])) {
	var c caught[T]
	defer func() { end(c) }()
	c.run(ctx, call, op, next)
}

// run runs next and keeps how it ended. A panic stops here; Goexit goes on, through what the caller has deferred.
func (c *caught[T]) run(ctx context.Context, call Call, op Operation[T], next Next[T]) {
	c.err = ErrGoexit
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			pe, ok := p.(*PanicError) // raised again by a layer further in, with the stack of where it was
			if !ok {
				pe = &PanicError{Value: p, Stack: debug.Stack()}
			}
			c.panic, c.err = pe, pe
		}
	}()
	c.v, c.err = next(ctx, call, op)
	returned = true
}

// forsaken gets rid of what a run has left that nobody waits for any more: it discards the value, has gates settle that
// held it, and publishes a panic, of which nobody else would learn.
func (c caught[T]) forsaken(ctx context.Context, call Call, at place, discard func(context.Context, Call, T)) {
	failure, _ := seen(c.err)
	defer call.release(0, failure)
	if p, ok := find[*PanicError](failure); ok {
		at.panicked(ctx, call, "operation", p.Value)
	}
	if delivers(c.err) && !call.valueless {
		discard(ctx, call, c.v)
	}
}
