package resilience_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// Breakers of a package's variables are used in many bubbles: in each it is the year 2000 again.

// PIPE-26: whatever state the clock of before has left it in, a breaker can be used with another one.
func TestBreakerSurvivesAnotherClock(t *testing.T) {
	bus := events.NewBus()
	for name, leave := range map[string]func(*testing.T, *resilience.Breaker){
		"closed": func(t *testing.T, b *resilience.Breaker) { calls(t, b, "s") },
		"open":   func(t *testing.T, b *resilience.Breaker) { calls(t, b, "fff") },
		"half-open, its probe lost": func(t *testing.T, b *resilience.Breaker) {
			calls(t, b, "fff")
			for b.State() != events.StateHalfOpen { // a second, or none with a clock that is 26 years ahead
				time.Sleep(time.Second)
			}
			if _, err := b.Acquire(t.Context()); err != nil {
				t.Error(err)
			}
		},
	} {
		cfg := resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 3, Cooldown: time.Second, MaxProbeTime: time.Second, Bus: bus}
		b := resilience.MustBreaker(cfg)
		use := func(t *testing.T) {
			for i := 0; b.Run(t.Context(), succeed) != nil; i++ {
				if i == 3 {
					t.Fatalf("%s: stuck %v: %+v", name, b.State(), b.Snapshot())
				}
				time.Sleep(time.Second)
			}
			state(t, b, events.StateClosed)
			for i, spent := range b.Snapshot().Spent {
				if spent < 0 {
					t.Errorf("%s: %v spent in %v", name, spent, events.State(i))
				}
			}
		}
		if name != "half-open, its probe lost" { // it would take real seconds
			leave(t, b)
		}
		for range 3 {
			synctest.Test(t, func(t *testing.T) {
				use(t)
				time.Sleep(time.Hour) // the next bubble's time is before this one's
				leave(t, b)
			})
		}
		b.Reset()
		use(t)
	}
}

// PIPE-26
func TestRatioBreakerForgetsTheCallsOfAnotherClock(t *testing.T) {
	b := breaker(resilience.BreakerConfig{FailureRatio: 0.5, MinCalls: 4})
	calls(t, b, "fff")
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			calls(t, b, "fff")
			state(t, b, events.StateClosed)
			time.Sleep(time.Hour)
			calls(t, b, "fff")
			state(t, b, events.StateClosed)
		})
	}
}

// PIPE-26, BRK-04: a lease of one bubble that is released in the next, whose time began anew, takes no other call's place
// among those under way: that one's end would leave a number below zero, and the breaker would open.
func TestALeaseOfAnotherClockTakesNobodysPlace(t *testing.T) {
	b := breaker(resilience.BreakerConfig{SlowCall: 40 * time.Second, MinCalls: 1, Window: time.Hour, Cooldown: time.Hour})
	var left *resilience.Lease
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(6 * time.Second)
		calls(t, b, "s")
		left, _ = b.Acquire(t.Context())
	})
	synctest.Test(t, func(t *testing.T) {
		own, err := b.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		calls(t, b, "s")
		time.Sleep(7 * time.Second)
		left.Release(nil)
		own.Release(nil)
		time.Sleep(10 * time.Minute)
		if s := b.Snapshot(); s.State != events.StateClosed || s.SlowCalls != 0 || s.Calls > 4 {
			t.Errorf("%+v", s)
		}
		calls(t, b, "s")
	})
}

// PIPE-26, BRK-05: a refusal never tells a wait that is longer than the cooldown.
func TestRefusalOfAnotherClockAsksForNoWait(t *testing.T) {
	b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1})
	calls(t, b, "f")
	err := b.Run(t.Context(), succeed)
	open := new(resilience.BreakerOpenError)
	if !errors.As(err, &open) || open.RetryAfter() <= 0 || open.RetryAfter() > 30*time.Second {
		t.Fatalf("%v, retry after %v", err, open.RetryAfter())
	}
	synctest.Test(t, func(*testing.T) {
		if d := open.RetryAfter(); d != 0 {
			t.Errorf("in the year 2000 it asks to come back after %v", d)
		}
	})
}

// PIPE-26
func TestBulkheadSurvivesAnotherClock(t *testing.T) {
	b := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "b", MaxConcurrent: 1, MaxQueue: 1, MaxWait: time.Second, Bus: events.NewBus()})
	outside, err := b.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			if err := b.Run(t.Context(), succeed); !errors.Is(err, resilience.ErrLimited) || time.Since(began) != time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if err := b.Run(ctx, succeed); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
	}
	outside.Release(nil)
	synctest.Test(t, func(t *testing.T) {
		if err := b.Run(t.Context(), succeed); err != nil {
			t.Error(err)
		}
	})
	if s := b.Snapshot(); s.Usage != 0 || s.Queued != 0 {
		t.Errorf("left behind: %+v", s)
	}
}
