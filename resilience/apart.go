package resilience

import "context"

// run runs next and keeps how it ended. A panic stops here; Goexit goes on, through what the caller has deferred.
func (c *caught[T]) run(ctx context.Context, call Call, op Operation[T], next Next[T]) {
	returned := false
	defer func() {
		if !returned {
			*c = broken[T](recover())
		}
	}()
	c.v, c.err = next(ctx, call, op)
	returned = true
}

// forsaken gets rid of what a run has left that nobody waits for any more: it discards the value, has gates settle that
// held it, and publishes a panic, of which nobody else would learn: its own, or one of a gate of the user's that settles.
func (c *caught[T]) forsaken(ctx context.Context, call Call, at place, discard func(context.Context, Call, T)) {
	defer at.recoverCallback(ctx, call, "Gate.Settle")
	failure, _ := seen(c.err)
	defer call.release(0, failure)
	if delivers(c.err) {
		defer discard(ctx, call, c.v)
	}
	if p, ok := find[*PanicError](failure); ok {
		at.panicked(ctx, call, "operation", p.Value)
	}
}
