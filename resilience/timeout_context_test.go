package resilience_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// TMO-03, TMO-07: where both limits pass at once it is the total's, and nothing is retried.
func TestOfEqualLimitsTheOuterCounts(t *testing.T) {
	for _, op := range map[string]func(context.Context) error{
		"asks": hang, "does not ask": func(context.Context) error { time.Sleep(time.Second); return errBoom },
	} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			tape := record(bus)
			err := ints(bus, resilience.Timeout{Name: "total", After: time.Second}, resilience.Retry{}, breakerOn(bus, 0.5),
				resilience.Timeout{Name: "attempt", After: time.Second}).Run(t.Context(), op)
			told := heard[events.TimedOut](tape)
			if timeout, ok := err.(*resilience.TimeoutError); !ok || timeout.Layer != "total" || len(told) != 1 || len(heard[events.AttemptStarted](tape)) != 1 {
				t.Errorf("%v, told %+v", err, told)
			}
		})
	}
}

// TMO-04, TMO-09: three limits in either order, whether the operation asks for its context's end or not.
func TestTheEarliestOfThreeLimitsCounts(t *testing.T) {
	asks := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	never := func(context.Context) error { time.Sleep(1500 * time.Millisecond); return errBoom }
	for _, limits := range [][]time.Duration{{1, 2, 3}, {3, 2, 1}, {2, 1, 3}, {2, 3, 1}} {
		for _, op := range []func(context.Context) error{asks, never} {
			synctest.Test(t, func(t *testing.T) {
				var layers []resilience.Layer
				for _, after := range limits {
					layers = append(layers, resilience.Timeout{After: after * time.Second})
				}
				err := ints(events.NewBus(), layers...).Run(t.Context(), op)
				if timeout, ok := err.(*resilience.TimeoutError); !ok || timeout.Limit != time.Second {
					t.Errorf("%v: got %v", limits, err)
				}
			})
		}
	}
}

// TMO-02: the limit begins where its layer is reached, whatever waited before.
func TestALimitDoesNotCountWhatWaitedBefore(t *testing.T) {
	wait := func(ctx context.Context, next func(context.Context) error) error {
		time.Sleep(time.Second)
		return next(ctx)
	}
	waits := typed[int](func(next resilience.Next[int]) resilience.Next[int] {
		return func(ctx context.Context, call resilience.Call, op resilience.Operation[int]) (int, error) {
			time.Sleep(time.Second)
			return next(ctx, call, op)
		}
	})
	for what, layer := range map[string]resilience.Layer{
		"around": resilience.Around("wait", wait), "a typed layer": waits, "a gate": slowGate{},
		"a retry": resilience.Retry{Backoff: resilience.Constant(time.Second)},
	} {
		for _, bus := range []*events.Bus{events.NewBus(), listened()} {
			synctest.Test(t, func(t *testing.T) {
				began, runs := time.Now(), 0
				ints(bus, resilience.Timeout{After: time.Minute}, layer, resilience.Timeout{After: 10 * time.Second}).Run(t.Context(), func(ctx context.Context) error {
					if runs++; what == "a retry" && runs == 1 {
						return errBoom
					}
					if d, _ := ctx.Deadline(); d.Sub(began) != 11*time.Second {
						t.Errorf("after %s: deadline after %v", what, d.Sub(began))
					}
					return nil
				})
			})
		}
	}
}

// slowGate admits after a second.
type slowGate struct{}

func (slowGate) LayerInfo() resilience.LayerInfo { return resilience.LayerInfo{Name: "slow"} }
func (slowGate) Admit(context.Context, resilience.Call) (resilience.Permit, error) {
	time.Sleep(time.Second)
	return resilience.Permit{}, nil
}
func (slowGate) Settle(context.Context, resilience.Call, resilience.Permit, resilience.Outcome) {}

// TMO-09: what a layer of the user's leaves running behind the call ends with the call, not with its own limit.
func TestWhatIsLeftRunningEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan time.Time, 1)
		leaves := typed[int](func(next resilience.Next[int]) resilience.Next[int] {
			return func(ctx context.Context, call resilience.Call, op resilience.Operation[int]) (int, error) {
				go next(ctx, call, op)
				synctest.Wait()
				return 1, nil
			}
		})
		began := time.Now()
		ints(events.NewBus(), resilience.Timeout{After: time.Minute}, leaves, resilience.Retry{}, resilience.Timeout{After: time.Second}).Run(t.Context(),
			func(ctx context.Context) error { err := hang(ctx); ended <- time.Now(); return err })
		if at := <-ended; at != began {
			t.Errorf("it ended %v after", at.Sub(began))
		}
	})
}

// TMO-09: a call inside a call's operation, with its own limits, ends with the one around it, asked or not.
func TestLimitsOfCallsWithinCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		outer := ints(bus, resilience.Timeout{Name: "outer", After: 5 * time.Second}, resilience.Timeout{Name: "outer attempt", After: 3 * time.Second})
		inner := ints(bus, resilience.Timeout{Name: "inner", After: 4 * time.Second}, resilience.Retry{MaxAttempts: 1}, resilience.Timeout{Name: "inner attempt", After: time.Second})
		left := make(chan error, 1)
		began := time.Now()
		err := outer.Run(t.Context(), func(ctx context.Context) error {
			go func() { left <- inner.Run(ctx, func(ctx context.Context) error { err := hang(ctx); return err }) }()
			time.Sleep(500 * time.Millisecond)
			return nil
		})
		if got := <-left; err != nil || resilience.KindOf(got) != resilience.KindCanceled || time.Since(began) != 500*time.Millisecond {
			t.Errorf("%v; the call left running: %v after %v", err, got, time.Since(began))
		}
		err = outer.Run(t.Context(), func(ctx context.Context) error {
			return inner.Run(ctx, func(context.Context) error { time.Sleep(2 * time.Second); return errBoom })
		})
		if timeout, ok := err.(*resilience.TimeoutError); !ok || timeout.Layer != "inner attempt" {
			t.Errorf("got %v", err)
		}
	})
}

// PIPE-26: a pipeline's limits are right in one bubble after the other, and outside of them.
func TestALimitIsRightInEveryBubble(t *testing.T) {
	p := ints(events.NewBus(), resilience.Timeout{After: time.Hour}, resilience.Retry{}, resilience.Timeout{After: time.Minute})
	deadline := func(t *testing.T) {
		before := time.Now()
		p.Run(t.Context(), func(ctx context.Context) error {
			if d, ok := ctx.Deadline(); !ok || d.Before(before.Add(time.Minute)) || d.After(time.Now().Add(time.Minute)) {
				t.Errorf("deadline in %v", time.Until(d))
			}
			return nil
		})
	}
	for range 2 {
		deadline(t)
		synctest.Test(t, deadline)
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Hour)
			deadline(t)
			began := time.Now()
			resilience.Run(t.Context(), hang, resilience.Timeout{After: time.Minute})
			if time.Since(began) != time.Minute {
				t.Errorf("ended after %v", time.Since(began))
			}
		})
	}
}
