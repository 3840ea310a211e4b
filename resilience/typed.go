package resilience

import "context"

// newTyped puts a typed layer of the user's around next.
func newTyped[T any](l TypedLayer[T], next Next[T]) Next[T] {
	layer := l.Wrap(func(ctx context.Context, call Call, op Operation[T]) (T, error) {
		call.supersede()
		return next(ctx, call.stale(), op)
	})
	if layer == nil {
		return nil
	}
	return func(ctx context.Context, call Call, op Operation[T]) (T, error) {
		before := call.remark(call.held())
		v, err := layer(ctx, call, op)
		call.remark(before)
		return v, orError(v, err)
	}
}

// orError returns the error of a typed layer of the user's. If the layer did not hand on the failing value, the caller
// would otherwise get neither value nor error.
func orError[T any](v T, err error) error {
	if w, ok := err.(*verdict); ok && !w.zero && isZero(v) {
		return asError(err)
	}
	return err
}
