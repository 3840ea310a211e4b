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

// began counts a goroutine that is about to be started; it defers ended.
func (b *background) began() {
	b.mu.Lock()
	b.running++
	b.mu.Unlock()
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

// count returns how many run at present.
func (b *background) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running
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
	returned := false
	defer func() {
		if !returned {
			c = broken[T](recover())
		}
		end(c)
	}()
	c.v, c.err = next(ctx, call, op)
	returned = true
}

// late returns what is told of values that were returned further in, if the run as a whole returned none.
func (c caught[T]) late() error {
	if c.panic != nil || c.err == ErrGoexit {
		return errNotReturned
	}
	return nil
}

// broken tells how a run ended that did not return, by what recover returned: nil after Goexit.
func broken[T any](p any) caught[T] {
	if p == nil {
		return caught[T]{err: ErrGoexit}
	}
	pe, ok := p.(*PanicError) // raised again by a layer further in, with the stack of where it was
	switch {
	case !ok || pe == nil:
		pe = &PanicError{Value: p, Stack: debug.Stack(), Raised: true}
	case !pe.Raised: // the user's own, which others may have, too
		pe = &PanicError{Value: pe.Value, Stack: pe.Stack, Raised: true}
	}
	return caught[T]{err: pe, panic: pe}
}
