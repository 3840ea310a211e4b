package resilience

import "context"

// Around returns a layer that calls f instead of what is inside it; f calls next once, several times or not at all, and
// returns its error as it is, or another. It is for pipelines of every result type: the value is that of the last next.
// When f returns next's error unchanged, a failing value stays one. f must not call next on another goroutine that outlives it.
func Around(name string, f func(ctx context.Context, next func(context.Context) error) error) Layer {
	return around{name, f}
}

type around struct {
	name string
	f    func(ctx context.Context, next func(context.Context) error) error
}

// LayerInfo implements [Layer].
func (a around) LayerInfo() LayerInfo { return LayerInfo{Name: a.name, Type: "around"} }

func (a around) check() error {
	c := checks{typ: "Around"}
	c.name("name", a.name, true)
	if a.f == nil {
		c.refuse("f", "nil", "a function")
	}
	return c.err()
}

func newAround[T any](a around, next Next[T]) Next[T] {
	return func(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
		call = call.stale()
		err = a.f(ctx, func(ctx context.Context) error {
			var inner error
			v, inner = next(ctx, call, op)
			return inner
		})
		return v, err
	}
}
