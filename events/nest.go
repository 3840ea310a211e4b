package events

import "context"

type nestKey struct{}

// Nest marks a context: executions that start with it carry [Meta].Nested, and adapters ignore those. A handler that
// runs code which may itself make resilient calls (a log handler that ships over HTTP) passes on Nest(ctx).
func Nest(ctx context.Context) context.Context {
	if Nested(ctx) {
		return ctx
	}
	return context.WithValue(ctx, nestKey{}, true)
}

// Nested tells whether the context was marked by [Nest].
func Nested(ctx context.Context) bool { return ctx != nil && ctx.Value(nestKey{}) != nil }
