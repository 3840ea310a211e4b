package resiliencetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

type valueKey struct{}

func (k layerKit[T]) showsValues() {
	k.guarded(func() {
		s := k.site(nil)
		var seen any
		ctx := context.WithValue(context.Background(), valueKey{}, "value")
		_ = s.Run(ctx, func(ctx context.Context) error { seen = ctx.Value(valueKey{}); return nil })
		if seen != "value" {
			k.errorf("the operation's context has lost the values of the caller's")
		}
		if _, contexts, _, _ := s.inner.read(); len(contexts) > 0 && contexts[0].Value(valueKey{}) != "value" {
			k.errorf("the context of the gates inside has lost the values of the caller's")
		}
	})
}

func (k layerKit[T]) passesCall() {
	k.guarded(func() {
		s := k.site(func(c *resilience.PipelineConfig[T]) {
			c.Layers = append([]resilience.Layer{resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay}}, c.Layers...)
		})
		numbers := []int{}
		_ = s.RunKey(context.Background(), "key", func(ctx context.Context) error {
			numbers = append(numbers, resilience.AttemptNumber(ctx))
			return errKit
		})
		if fmt.Sprint(numbers) != "[1 2]" {
			k.errorf("the operation's contexts number the attempts %v, want [1 2]", numbers)
		}
		calls, _, _, _ := s.inner.read()
		for i, call := range calls {
			if call.Key() != "key" || call.Attempt() != i+1 {
				k.errorf("a gate inside is told key %q and attempt %d, want %q and %d: hand on the call as it is", call.Key(), call.Attempt(), "key", i+1)
			}
		}
	})
}

func (k layerKit[T]) letsPanicThrough() {
	s := k.site(nil)
	var err error
	panicked, returned := apart(func() { err = s.Run(context.Background(), Script(Panics[T](errKit)).Run) })
	var wrapped *resilience.PanicError
	if p, ok := panicked.(*resilience.PanicError); ok {
		panicked = p.Value
	}
	if returned && errors.As(err, &wrapped) {
		panicked = wrapped.Value
	}
	if panicked != any(errKit) {
		k.errorf("the operation's panic is lost: the caller gets %v and the panic %v", err, panicked)
	}
	s.settled(k, resilience.NotReturned)
}

func (k layerKit[T]) letsGoexitThrough() {
	s := k.site(nil)
	var err error
	panicked, returned := apart(func() { err = s.Run(context.Background(), Script(Goexits[T]()).Run) })
	if panicked != nil || returned && !errors.Is(err, resilience.ErrGoexit) {
		k.errorf("the operation's Goexit is lost: the caller gets %v and the panic %v", err, panicked)
	}
	s.settled(k, resilience.NotReturned, resilience.Failed)
}

func (k layerKit[T]) letsCancellationThrough() {
	k.bubble(func() {
		s, op := k.site(nil), Script(Hangs[T]())
		ctx, cancel := context.WithCancel(context.Background())
		var err error
		var returned atomic.Bool
		go func() {
			err = s.Run(ctx, op.Run)
			returned.Store(true)
		}()
		time.Sleep(time.Second) // the layer may wait a little
		cancel()
		synctest.Wait()
		if op.Running() > 0 {
			k.errorf("the caller's cancellation does not reach the operation")
			return
		}
		if !returned.Load() {
			k.errorf("the call goes on although its caller has left")
			return
		}
		var canceled *resilience.CanceledError
		if !errors.As(err, &canceled) || op.Runs() != 1 {
			k.errorf("the caller left; the operation ran %d times, and the error is %v, want one run and a *CanceledError", op.Runs(), err)
		}
		s.settled(k, resilience.Canceled)
	})
}

func (k layerKit[T]) runsOneAtATime() {
	k.bubble(func() {
		s := k.site(nil)
		op := Script(Returns(sample[T]()).After(time.Second))
		_, _ = s.Do(context.Background(), op.Do)
		if n := op.Running(); n > 0 {
			k.errorf("the operation still runs when the layer has returned")
		}
		time.Sleep(time.Minute)
		if n := op.MostAtOnce(); n > 1 {
			k.errorf("the operation ran %d times at once, want one at a time", n)
		}
	})
}

// keepsCallsApart: each of many calls at once gets what its own operation returned.
func (k layerKit[T]) keepsCallsApart() {
	k.bubble(func() {
		s := k.site(nil)
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				own := fmt.Errorf("failure %d", i)
				ctx, cancel := context.WithCancel(context.WithValue(context.Background(), valueKey{}, i))
				defer cancel()
				var ran atomic.Int64
				err := s.RunKey(ctx, fmt.Sprint(i), func(ctx context.Context) error {
					ran.Add(1)
					time.Sleep(time.Millisecond)
					if got := ctx.Value(valueKey{}); got != i {
						k.errorf("a call's operation has another call's context")
					}
					if i%8 == 0 {
						cancel()
					} else if ctx.Err() != nil {
						k.errorf("a call's context ended when another's caller left")
					}
					return own
				})
				left := i%8 == 0 && errors.Is(err, context.Canceled) // a layer that runs it apart need not wait for its end
				if !errors.Is(err, own) && !left || ran.Load() != 1 {
					k.errorf("of many calls at once one ran its operation %d times and got %v, want once and %v", ran.Load(), err, own)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second) // for those that run apart
		if calls, _, outcomes, each := s.inner.read(); !each || len(calls) != 64 {
			k.errorf("a gate inside admitted %d calls of 64 and settled %d", len(calls), len(outcomes))
		}
	})
}

// keepsPipelinesApart: one layer in two pipelines runs the operations of each.
func (k layerKit[T]) keepsPipelinesApart() {
	k.guarded(func() {
		layer := k.new()
		first, second := k.siteOf(layer, nil), k.siteOf(layer, nil)
		for _, s := range []site[T]{first, second, first} {
			ran := 0
			if err := s.Run(context.Background(), func(context.Context) error { ran++; return nil }); err != nil || ran != 1 {
				k.errorf("in the second of two pipelines the operation ran %d times: %v", ran, err)
			}
		}
		a, _, _, _ := first.inner.read()
		b, _, _, _ := second.inner.read()
		if len(a) != 2 || len(b) != 1 {
			k.errorf("of two pipelines around one layer the first saw %d calls and the second %d, want 2 and 1", len(a), len(b))
		}
	})
}

func (k layerKit[T]) leavesNoGoroutine() {
	left := leaves(func() {
		k.guarded(func() {
			s := k.site(nil)
			for _, end := range ends {
				apart(func() { _ = s.Run(context.Background(), end.op) })
			}
			ctx, cancel := context.WithCancel(context.Background())
			_ = s.Run(ctx, func(context.Context) error { cancel(); return context.Canceled })
		})
	})
	if left != "" {
		k.errorf("goroutines are left when all calls have ended:\n%s", left)
	}
}

func (k layerKit[T]) servesBubbles() {
	s := k.site(nil)
	use := func(where string) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := s.Run(context.Background(), succeed); err != nil {
					k.errorf("%s a call that should succeed gets %v", where, err)
				}
			})
		}
		wg.Wait()
	}
	k.guarded(func() { use("outside of a bubble") })
	for _, bubble := range []string{"in a bubble", "in the bubble after"} {
		k.bubble(func() {
			use(bubble)
			time.Sleep(time.Hour)
			use(bubble + ", an hour later,")
		})
	}
	k.guarded(func() { use("outside again") })
}
