package resilience

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// background counts the goroutines that a pipeline has started. It holds no channel but those of who waits at present.
type background struct {
	running atomic.Int64
	awaited atomic.Bool // somebody may wait
	mu      sync.Mutex
	waiting []chan struct{} // guarded by mu; closed when nothing runs
}

// began counts a goroutine that is about to be started. It defers ended, and must not panic (see [caught]).
func (b *background) began() { b.running.Add(1) }

func (b *background) ended() {
	if b.running.Add(-1) == 0 && b.awaited.Load() {
		b.tell()
	}
}

// tell tells those who wait that nothing runs, unless something does again.
func (b *background) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running.Load() > 0 {
		return // who ends last tells them
	}
	for _, ch := range b.waiting {
		close(ch)
	}
	b.waiting = nil
	b.awaited.Store(false)
}

// count returns how many run at present.
func (b *background) count() int { return int(b.running.Load()) }

// wait returns when nothing runs, or with the error of ctx.
func (b *background) wait(ctx context.Context) error {
	b.mu.Lock()
	b.awaited.Store(true) // before it looks: whoever ends after that tells
	if b.running.Load() == 0 {
		b.mu.Unlock()
		return nil
	}
	if ctx == nil {
		b.mu.Unlock()
		return errNilContext
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
