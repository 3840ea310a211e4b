package resiliencetest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

var errKit = errors.New("resiliencetest: an operation's failure")

func succeed(context.Context) error { return nil }

var outcomeKinds = []resilience.OutcomeKind{resilience.Succeeded, resilience.Failed, resilience.Rejected, resilience.Canceled,
	resilience.Ignored, resilience.NotReturned}

// takesEveryOutcome: also one that is settled when its context has ended.
func (k gateKit) takesEveryOutcome() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, kind := range outcomeKinds {
		for _, ctx := range []context.Context{context.Background(), ended} {
			k.bubble(func() {
				gate := k.new()
				permit, err := admitNow(gate)
				if err != nil {
					k.errorf("a new gate refuses: %v", err)
					return
				}
				gate.Settle(ctx, resilience.Call{}, permit, outcome(kind))
				k.whole(gate, "a call that ended as "+kind.String())
			})
		}
	}
}

// whole checks that all permits are there, and none too many. It is for bubbles.
func (k gateKit) whole(gate resilience.Gate, after string) {
	if k.Concurrent == 0 {
		return
	}
	permits := k.fill(gate)
	if len(permits) < k.Concurrent {
		k.errorf("after %s %d permits are left of %d", after, len(permits), k.Concurrent)
	} else if _, err := admitNow(gate); err == nil {
		k.errorf("after %s there is a permit more than %d", after, k.Concurrent)
	}
	k.settle(gate, permits, resilience.Succeeded)
}

// ends are the ways in which an operation ends.
var ends = []struct {
	name string
	op   func(context.Context) error
}{
	{"a success", succeed},
	{"a failure", func(context.Context) error { return errKit }},
	{"a panic", func(context.Context) error { panic("resiliencetest: an operation's panic") }},
	{"a Goexit", func(context.Context) error { runtime.Goexit(); return nil }},
}

func (k gateKit) getsPermitsBack() {
	for _, end := range ends {
		k.bubble(func() {
			gate := k.new()
			p := k.pipeline(events.NewBus(), gate)
			for range 2*k.Concurrent + 1 {
				apart(func() { _ = p.Run(context.Background(), end.op) })
			}
			k.whole(gate, end.name)
		})
	}
	k.bubble(func() {
		gate := k.new()
		p := k.pipeline(events.NewBus(), gate)
		for range 2*k.Concurrent + 1 {
			ctx, cancel := context.WithCancel(context.Background())
			_ = p.Run(ctx, func(context.Context) error { cancel(); return ctx.Err() })
		}
		k.whole(gate, "a cancellation")
	})
	k.bubble(func() { // refusals take nothing, and settle nothing
		gate := k.new()
		permits := k.fill(gate)
		for range 3 * k.Concurrent {
			_, _ = admitNow(gate)
		}
		synctest.Wait()
		k.settle(gate, permits, resilience.Succeeded)
		k.whole(gate, "refusals")
	})
}

// admitsNobodyDone: whoever waits leaves when its context ends, also when its turn comes at the same time.
func (k gateKit) admitsNobodyDone() {
	for _, freed := range []bool{false, true} {
		k.bubble(func() {
			gate := k.new()
			permits := k.fill(gate)
			if len(permits) == 0 {
				return
			}
			ctx, cancel := context.WithCancel(context.Background())
			var admitted, returned atomic.Int64
			for range k.Concurrent {
				go func() {
					if _, err := gate.Admit(ctx, resilience.Call{}); err == nil {
						admitted.Add(1)
					}
					returned.Add(1)
				}()
			}
			synctest.Wait()
			cancel()
			if freed {
				k.settle(gate, permits, resilience.Succeeded)
			}
			synctest.Wait()
			if n := admitted.Load(); n > 0 {
				k.errorf("%d calls were admitted whose context had ended while they waited", n)
			}
			if n := returned.Load(); int(n) < k.Concurrent {
				k.errorf("%d calls go on waiting although their context has ended", k.Concurrent-int(n))
			}
			if !freed {
				k.settle(gate, permits, resilience.Succeeded)
				synctest.Wait()
			}
			k.whole(gate, "calls that left while they waited")
		})
	}
}

func (k gateKit) leavesNoGoroutine() {
	left := leaves(func() {
		k.guarded(func() {
			gate := k.new()
			p := k.pipeline(events.NewBus(), gate)
			for _, end := range ends {
				apart(func() { _ = p.Run(context.Background(), end.op) })
			}
			ctx, cancel := context.WithCancel(context.Background())
			_ = p.Run(ctx, func(context.Context) error { cancel(); return ctx.Err() })
		})
	})
	if left != "" {
		k.errorf("goroutines are left when all calls have ended:\n%s", left)
	}
}

func (k gateKit) standsConcurrentUse() {
	k.bubble(func() {
		gate := k.new()
		p := k.pipeline(events.NewBus(), gate)
		var running, most, ran, refused atomic.Int64
		var wg sync.WaitGroup
		const goroutines, each = 32, 20
		for g := range goroutines {
			wg.Go(func() {
				for i := range each {
					gate.LayerInfo()
					apart(func() {
						err := p.RunKey(context.Background(), "key", func(ctx context.Context) error {
							n := running.Add(1)
							defer running.Add(-1)
							for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
							}
							ran.Add(1)
							time.Sleep(time.Millisecond)
							return ends[(g+i)%len(ends)].op(ctx)
						})
						if errors.Is(err, resilience.ErrLimited) || errors.Is(err, resilience.ErrBreakerOpen) {
							refused.Add(1)
						}
					})
				}
			})
		}
		wg.Wait()
		if k.Concurrent > 0 && int(most.Load()) > k.Concurrent {
			k.errorf("%d calls ran at once, %d may", most.Load(), k.Concurrent)
		}
		if all := ran.Load() + refused.Load(); all != goroutines*each {
			k.errorf("of %d calls %d ran and %d were refused", goroutines*each, ran.Load(), refused.Load())
		}
		k.whole(gate, "concurrent calls")
	})
}

// servesBubbles: what was made outside is used inside, and outside again.
func (k gateKit) servesBubbles() {
	gate := k.new()
	p := k.pipeline(events.NewBus(), gate)
	use := func(where string) {
		var wg sync.WaitGroup
		var ran atomic.Int64
		calls := max(1, min(k.Calls/8, 4))
		for range calls {
			wg.Go(func() {
				_ = p.Run(context.Background(), func(context.Context) error { ran.Add(1); return nil })
			})
		}
		wg.Wait()
		if ran.Load() == 0 {
			k.errorf("%s it lets no call through", where)
		}
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
