package resiliencetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// flow is a typed layer made of a function.
type flow[T any] struct {
	info func() resilience.LayerInfo
	wrap func(next resilience.Next[T]) resilience.Next[T]
}

func (f flow[T]) LayerInfo() resilience.LayerInfo {
	if f.info != nil {
		return f.info()
	}
	return resilience.LayerInfo{Name: "flow"}
}

func (f flow[T]) Wrap(next resilience.Next[T]) resilience.Next[T] {
	if f.wrap == nil {
		return next
	}
	return f.wrap(next)
}

func soundFlow[T any]() resilience.TypedLayer[T] { return flow[T]{} }

// elsewhere runs what is inside on another goroutine, as it should be done.
func elsewhere[T any]() resilience.TypedLayer[T] {
	return flow[T]{wrap: func(next resilience.Next[T]) resilience.Next[T] {
		return func(ctx context.Context, call resilience.Call, op resilience.Operation[T]) (v T, err error) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				err = resilience.ErrGoexit
				defer func() {
					if p := recover(); p != nil {
						err = &resilience.PanicError{Value: p}
					}
				}()
				v, err = next(ctx, call, op)
			}()
			<-done
			return v, err
		}
	}}
}

func TestTheKitHasNothingToSayOfASoundLayer(t *testing.T) {
	type reply struct{ Status int }
	TestTypedLayer(t, soundFlow[int])
	TestTypedLayer(t, soundFlow[*reply])
	TestTypedLayer(t, soundFlow[error])
	TestTypedLayer(t, elsewhere[string])
}

// with makes a layer of ints that does f instead of calling next.
func with(f func(next resilience.Next[int], ctx context.Context, call resilience.Call, op resilience.Operation[int]) (int, error)) func() resilience.Layer {
	return func() resilience.Layer {
		return flow[int]{wrap: func(next resilience.Next[int]) resilience.Next[int] {
			return func(ctx context.Context, call resilience.Call, op resilience.Operation[int]) (int, error) {
				return f(next, ctx, call, op)
			}
		}}
	}
}

type (
	next = resilience.Next[int]
	call = resilience.Call
	op   = resilience.Operation[int]
)

func runLayerCheck(t *testing.T, name string, new func() resilience.Layer) *fakeTB {
	found := &fakeTB{TB: t}
	for _, c := range layerChecks[int]() {
		if c.name == name {
			c.run(layerKit[int]{kit{t, found}, new})
			return found
		}
	}
	t.Fatalf("there is no check %q", name)
	return nil
}

// PITFALL 22, 23, 29; PIPE-04, PIPE-13, PIPE-20, PIPE-26, PIPE-28: one broken layer a promise.
func TestTheKitFindsBrokenLayers(t *testing.T) {
	var named int
	var shared atomic.Pointer[op]
	tried := map[string]bool{}
	for _, c := range []struct {
		what, check, says string
		new               func() resilience.Layer
	}{
		{"another name each time", "describes itself the same way always", "LayerInfo changes", func() resilience.Layer {
			return flow[int]{info: func() resilience.LayerInfo {
				named++
				return resilience.LayerInfo{Name: fmt.Sprint("flow", named)}
			}}
		}},
		{"no layer at all", "describes itself the same way always", "does not fit a pipeline", func() resilience.Layer { return flow[string]{} }},
		{"another value", "hands on a success", "the caller gets 8", with(func(n next, ctx context.Context, c call, o op) (int, error) {
			v, err := n(ctx, c, o)
			return v + 1, err
		})},
		{"runs twice", "hands on a success", "the operation ran 2 times", with(func(n next, ctx context.Context, c call, o op) (int, error) {
			_, _ = n(ctx, c, o)
			return n(ctx, c, o)
		})},
		{"another error", "hands on a failure", "the caller gets other", with(func(n next, ctx context.Context, c call, o op) (int, error) {
			v, err := n(ctx, c, o)
			if err != nil {
				err = errors.New("other")
			}
			return v, err
		})},
		{"swallows the error", "hands on a failure", "the caller gets <nil>", with(func(n next, ctx context.Context, c call, o op) (int, error) {
			v, _ := n(ctx, c, o)
			return v, nil
		})},
		{"no value with an error", "hands on a failing value", "hand on value and error as they are", with(func(n next, ctx context.Context, c call, o op) (int, error) {
			v, err := n(ctx, c, o)
			if err != nil {
				v = 0
			}
			return v, err
		})},
		{"an error around the failing value's", "hands on a failing value", "hand on value and error as they are", with(func(n next, ctx context.Context, c call, o op) (int, error) {
			v, err := n(ctx, c, o)
			if err != nil {
				err = fmt.Errorf("around: %w", err)
			}
			return v, err
		})},
		{"another context", "shows the context's values", "has lost the values", with(func(n next, _ context.Context, c call, o op) (int, error) { return n(context.Background(), c, o) })},
		{"another call", "passes key and attempt on", `told key "" and attempt 0`, with(func(n next, ctx context.Context, _ call, o op) (int, error) { return n(ctx, call{}, o) })},
		{"recovers", "lets a panic through", "panic is lost", with(func(n next, ctx context.Context, c call, o op) (v int, err error) {
			defer func() { _ = recover() }()
			return n(ctx, c, o)
		})},
		{"loses a panic on another goroutine", "lets a panic through", "panic is lost", with(func(n next, ctx context.Context, c call, o op) (v int, err error) {
			apart(func() { v, err = n(ctx, c, o) })
			return v, err
		})},
		{"loses a Goexit on another goroutine", "lets Goexit through", "Goexit is lost", with(func(n next, ctx context.Context, c call, o op) (v int, err error) {
			apart(func() { v, err = n(ctx, c, o) })
			return v, err
		})},
		{"retries a cancellation", "lets a cancellation through", "the operation ran 2 times", with(func(n next, ctx context.Context, c call, o op) (int, error) {
			v, err := n(ctx, c, o)
			if err != nil {
				return n(ctx, c, o)
			}
			return v, err
		})},
		{"detaches the context", "lets a cancellation through", "does not reach the operation", with(func(n next, ctx context.Context, c call, o op) (int, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
			defer cancel()
			return n(ctx, c, o)
		})},
		{"waits on when its caller has left", "lets a cancellation through", "goes on although its caller has left", with(func(n next, ctx context.Context, c call, o op) (int, error) {
			v, err := n(ctx, c, o)
			time.Sleep(time.Hour)
			return v, err
		})},
		{"two at once", "runs one at a time, before it returns", "2 times at once", with(func(n next, ctx context.Context, c call, o op) (v int, err error) {
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = o(ctx) })
			v, err = n(ctx, c, o)
			wg.Wait()
			return v, err
		})},
		{"returns before its operation", "runs one at a time, before it returns", "still runs when the layer has returned", with(func(n next, ctx context.Context, c call, o op) (int, error) {
			go func() { _, _ = n(ctx, c, o) }()
			time.Sleep(time.Millisecond)
			return 0, nil
		})},
		{"runs another call's operation", "keeps calls apart", "of many calls at once", with(func(n next, ctx context.Context, c call, o op) (int, error) {
			shared.Store(&o)
			time.Sleep(time.Millisecond)
			return n(ctx, c, *shared.Load())
		})},
		{"the first pipeline's operations", "keeps pipelines apart", "the first saw 3 calls and the second 0", func() resilience.Layer {
			var kept next
			return flow[int]{wrap: func(n next) next {
				if kept == nil {
					kept = n
				}
				return kept
			}}
		}},
		{"one pipeline alone", "keeps pipelines apart", "in the second of two pipelines", func() resilience.Layer {
			wraps := 0
			return flow[int]{wrap: func(n next) next {
				if wraps++; wraps == 1 {
					return n
				}
				return func(context.Context, call, op) (int, error) { return 0, errors.New("taken") }
			}}
		}},
		{"the last pipeline's inside", "keeps pipelines apart", "saw", func() resilience.Layer {
			var kept next
			return flow[int]{wrap: func(n next) next {
				kept = n
				return func(ctx context.Context, c call, o op) (int, error) { return kept(ctx, c, o) }
			}}
		}},
		{"leaves a goroutine", "leaves no goroutine", "goroutines are left", with(func(n next, ctx context.Context, c call, o op) (int, error) {
			go func() { select {} }()
			return n(ctx, c, o)
		})},
		{"goes by the wall clock of another bubble", "serves bubbles one after another", "in a bubble a call that should succeed gets too soon", func() resilience.Layer {
			var last atomic.Int64
			return with(func(n next, ctx context.Context, c call, o op) (int, error) {
				if at := time.Now().UnixNano(); at < last.Swap(at) {
					return 0, errors.New("too soon")
				}
				return n(ctx, c, o)
			})()
		}},
		{"settles never", "lets a panic through", "a gate inside admitted 0 calls", with(func(_ next, ctx context.Context, _ call, o op) (int, error) { return o(ctx) })},
		{"blocks for ever", "lets a cancellation through", "stays blocked for ever", with(func(n next, ctx context.Context, c call, o op) (int, error) {
			go func() { select {} }()
			return n(ctx, c, o)
		})},
	} {
		finds(t, c.what, c.says, runLayerCheck(t, c.check, c.new))
		tried[c.check] = true
	}
	for _, c := range layerChecks[int]() {
		if !tried[c.name] {
			t.Errorf("no broken layer shows that the kit checks that it %s", c.name)
		}
	}
}

func TestTheSampleIsNotTheZeroValue(t *testing.T) {
	type nested struct{ Status struct{ Code int } }
	if sample[int]() == 0 || sample[uint8]() == 0 || sample[float32]() == 0 || sample[string]() == "" || !sample[bool]() || sample[*int]() == nil || sample[[]int]() == nil ||
		sample[map[string]int]() == nil || sample[nested]().Status.Code == 0 || sample[any]() == nil || sample[error]() != nil {
		t.Error("a sample is the zero value")
	}
}
