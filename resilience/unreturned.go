package resilience

import "context"

// stage tells how far a call is in a layer that has something to do once there is an outcome.
type stage uint8

const (
	running  stage = iota // what is inside has not returned
	landed                // it has
	settled               // and the gate is told
	returned              // and the outcome is handed on
)

// cutShort ends a gate's part of a call in which a panic or Goexit came before the outcome was handed on: of what is
// inside, of a handler, or of a function of the user's.
func cutShort[T any](ctx context.Context, g *gating, call Call, permit Permit, at stage, discard func(context.Context, Call, T), v T, err error) {
	if at >= landed {
		defer unreturned(ctx, call, discard, v, err) // also if what follows ends the goroutine
	}
	if at < settled {
		g.gate.Settle(ctx, call, permit, Outcome{Kind: NotReturned, Err: errNotReturned})
	}
}

// unreturned discards a value that nobody gets, because the goroutine ends.
func unreturned[T any](ctx context.Context, call Call, discard func(context.Context, Call, T), v T, err error) {
	if delivers(err) {
		discard(ctx, call, v)
	}
}

// guarded runs what tells of a call that has an outcome. If a handler ends the goroutine, the value is discarded.
func guarded[T any](ctx context.Context, call Call, discard func(context.Context, Call, T), v T, err error, tell func()) {
	told := false
	defer func() {
		if !told {
			unreturned(ctx, call, discard, v, err)
		}
	}()
	tell()
	told = true
}
