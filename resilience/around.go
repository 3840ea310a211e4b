package resilience

import "context"

// Around returns a layer that calls f instead of what is inside it; f calls next once, several times or not at all, and
// returns its error as it is, or another. It is for pipelines of every result type: the value is that of the last next.
// When f returns the last next's error unchanged, a failing value stays one. A value that another next supersedes, or
// that f returns another error for, or panics over, is discarded (PipelineConfig.Discard). f must not call next on another goroutine
// that outlives it, nor twice at a time.
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
		c.refuse("f", nil, "a function")
	}
	return c.err()
}

func newAround[T any](b *builder[T], a around, next Next[T]) Next[T] {
	return func(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
		call = call.stale()
		mark := call.held()
		ran := false
		var last error // of the last next
		supersede := func() {
			if ran && delivers(last) {
				left := v
				var none T
				v, ran = none, false // first: discarding it may end the goroutine
				b.discard(ctx, call, left)
			}
			call.release(mark, nil)
		}
		ended := false
		defer func() {
			if !ended && ran {
				unreturned(ctx, call, b.discard, v, last)
			}
		}()
		err = a.f(ctx, func(ctx context.Context) error {
			supersede()
			ran = false
			v, last = next(ctx, call, op)
			ran = true
			return last
		})
		ended = true
		if err != nil && !same(err, last) {
			supersede()
			err = asError(err)
		}
		return v, err
	}
}
