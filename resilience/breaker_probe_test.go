package resilience_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// probing returns a breaker whose cooldown has passed. It is for synctest bubbles.
func probing(t *testing.T, cfg resilience.BreakerConfig) *resilience.Breaker {
	t.Helper()
	cfg.ConsecutiveFailures = 1
	b := breaker(cfg)
	calls(t, b, "f")
	time.Sleep(30 * time.Second)
	state(t, b, events.StateHalfOpen)
	return b
}

// BRK-06: under any contention, in each of many half-open phases.
func TestHalfOpenAdmitsExactlyProbesUnderContention(t *testing.T) {
	for _, probes := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			b := probing(t, resilience.BreakerConfig{Probes: probes, ProbeSuccesses: 1000})
			for range 50 {
				var admitted, refused atomic.Int64
				var ready, wg sync.WaitGroup
				start, finish := make(chan struct{}), make(chan struct{})
				ready.Add(64)
				for range 64 {
					wg.Go(func() {
						ready.Done()
						<-start
						if err := b.Run(t.Context(), func(context.Context) error { admitted.Add(1); <-finish; return nil }); err != nil {
							refused.Add(1)
							if open := new(resilience.BreakerOpenError); !errors.As(err, &open) || open.State != events.StateHalfOpen || open.RetryAfter() != 0 {
								t.Errorf("refused with %v", err)
							}
						}
					})
				}
				ready.Wait()
				close(start)
				synctest.Wait()
				if admitted.Load() != int64(probes) || refused.Load() != 64-int64(probes) {
					t.Fatalf("%d admitted, %d refused; want %d probes", admitted.Load(), refused.Load(), probes)
				}
				close(finish)
				wg.Wait()
			}
			state(t, b, events.StateHalfOpen)
		})
	}
}

// BRK-06
func TestProbesDecide(t *testing.T) {
	for _, c := range []struct {
		probes, successes int
		outcomes          string
		want              events.State
	}{
		{0, 0, "s", events.StateClosed}, {0, 0, "f", events.StateOpen},
		{2, 0, "s", events.StateHalfOpen}, {2, 0, "ss", events.StateClosed}, {2, 0, "sf", events.StateOpen},
		{1, 3, "ss", events.StateHalfOpen}, {1, 3, "sss", events.StateClosed}, {3, 1, "s", events.StateClosed},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := probing(t, resilience.BreakerConfig{Probes: c.probes, ProbeSuccesses: c.successes})
			calls(t, b, c.outcomes)
			state(t, b, c.want)
			if s := b.Snapshot(); c.want == events.StateClosed && (s.Calls != 0 || s.Failures != 0) {
				t.Errorf("closed with counts: %+v", s)
			}
			if c.want != events.StateOpen {
				return
			}
			time.Sleep(30*time.Second - 1) // the cooldown starts anew
			state(t, b, events.StateOpen)
			time.Sleep(time.Nanosecond)
			state(t, b, events.StateHalfOpen)
		})
	}
}

// BRK-06: the counts from before are gone when it closes.
func TestClosingForgetsTheCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{FailureRatio: 0.5, MinCalls: 4, Window: time.Hour, Cooldown: time.Second})
		calls(t, b, "ffff")
		time.Sleep(time.Second)
		calls(t, b, "s")
		calls(t, b, "fsf")
		state(t, b, events.StateClosed)
		calls(t, b, "f")
		state(t, b, events.StateOpen)
	})
}

// BRK-07: each end that tells nothing frees the slot.
func TestProbeThatTellsNothingFreesItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		excluded := errors.New("not found")
		full := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "full", MaxConcurrent: 1, Bus: events.NewBus()})
		lease, _ := full.Acquire(t.Context())
		defer lease.Release(nil)
		for name, op := range map[string]func(context.Context, context.CancelFunc) error{
			"cancelled": func(ctx context.Context, cancel context.CancelFunc) error { cancel(); return ctx.Err() },
			"excluded":  func(context.Context, context.CancelFunc) error { return excluded },
			"rejected":  func(ctx context.Context, _ context.CancelFunc) error { return full.Run(ctx, succeed) },
		} {
			b := probing(t, resilience.BreakerConfig{MaxProbeTime: -1, FailureIf: func(err error) bool { return err != excluded }})
			for range 3 {
				ctx, cancel := context.WithCancel(t.Context())
				_ = b.Run(ctx, func(ctx context.Context) error { return op(ctx, cancel) })
				cancel()
				state(t, b, events.StateHalfOpen)
			}
			if s := b.Snapshot(); s.Calls != 0 {
				t.Errorf("%s: counted %d probes", name, s.Calls)
			}
			calls(t, b, "s")
			state(t, b, events.StateClosed)
		}
	})
}

// BRK-07, PIPE-13
func TestProbeThatDoesNotReturnFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, op := range map[string]func(context.Context) error{
			"panic":  func(context.Context) error { panic("oh") },
			"goexit": func(context.Context) error { runtime.Goexit(); return nil },
		} {
			for _, alone := range []bool{true, false} {
				b := probing(t, resilience.BreakerConfig{MaxProbeTime: -1})
				run := b.Run
				if !alone {
					run = ints(events.NewBus(), b).Run
				}
				var recovered any
				apart(func() {
					defer func() { recovered = recover() }()
					_ = run(t.Context(), op)
				})
				if (recovered == "oh") != (name == "panic") {
					t.Errorf("%s: recovered %v", name, recovered)
				}
				state(t, b, events.StateOpen)
				time.Sleep(30 * time.Second)
				calls(t, b, "s")
				state(t, b, events.StateClosed)
			}
		}
	})
}

// BRK-07: also while other slots are free.
func TestHangingProbeIsGivenUp(t *testing.T) {
	for _, probes := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			b := probing(t, resilience.BreakerConfig{Probes: probes, MaxProbeTime: 10 * time.Second, Bus: bus})
			tape := record(bus)
			hung, err := b.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10*time.Second - 1)
			if lease, err := b.Acquire(t.Context()); (err == nil) != (probes > 1) {
				t.Errorf("just before its time is over: %v", err)
			} else if err == nil {
				lease.Release(nil)
			}
			time.Sleep(time.Nanosecond)
			if err := b.Run(t.Context(), succeed); !errors.Is(err, resilience.ErrBreakerOpen) {
				t.Errorf("the call that notices: %v", err)
			}
			state(t, b, events.StateOpen)
			changes := heard[events.BreakerStateChanged](tape)
			if last := changes[len(changes)-1]; last.Reason != events.ReasonProbeFailed || last.Failures != 1 {
				t.Errorf("told %+v", last)
			}
			hung.Release(nil)
			state(t, b, events.StateOpen)
			if late := heard[events.LateResult](tape); len(late) != 1 || late[0].Outcome != events.OutcomeSuccess {
				t.Errorf("late results %+v", late)
			}
			time.Sleep(30 * time.Second)
			calls(t, b, "sss"[:probes])
			state(t, b, events.StateClosed)
		})
	}
}

// BRK-07: whether a call came by in the meantime does not matter.
func TestProbeThatEndsAfterItsTimeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		b := probing(t, resilience.BreakerConfig{Bus: bus}) // MaxProbeTime is a minute
		tape := record(bus)
		_ = b.Run(t.Context(), func(context.Context) error { time.Sleep(time.Minute); return nil })
		state(t, b, events.StateOpen)
		if late := heard[events.LateResult](tape); len(late) != 1 {
			t.Errorf("late results %+v", late)
		}
		never := probing(t, resilience.BreakerConfig{MaxProbeTime: -1})
		_ = never.Run(t.Context(), func(context.Context) error { time.Sleep(1000 * time.Hour); return nil })
		state(t, never, events.StateClosed)
	})
}

// BRK-06, BRK-07: a call that passes the breaker twice on its way, in a pipeline and in another inside its operation, takes
// two probes: with one, the breaker would refuse each of its own probes and never close.
func TestACallThatPassesTheBreakerTwiceNeedsTwoProbes(t *testing.T) {
	for probes, want := range map[int]events.State{1: events.StateHalfOpen, 2: events.StateClosed} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Probes: probes, Cooldown: time.Second, Bus: bus})
			outer, inner := pipeline(bus, "outer", b), pipeline(bus, "inner", b)
			calls(t, b, "f")
			for range 3 {
				time.Sleep(time.Second)
				_ = outer.Run(t.Context(), func(ctx context.Context) error { return inner.Run(ctx, succeed) })
			}
			state(t, b, want)
			calls(t, b, "ss") // by itself it is never stuck
			state(t, b, events.StateClosed)
		})
	}
}
