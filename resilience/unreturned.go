package resilience

import "context"

// stage tells how far a call is in a layer that tells of its outcome.
type stage uint8

const (
	running  stage = iota // what is inside has not returned
	landed                // it has
	returned              // and the outcome is handed on
)

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
