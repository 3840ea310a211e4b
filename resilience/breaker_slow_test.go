package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// takes runs one successful call after another that takes as long.
func takes(t *testing.T, b *resilience.Breaker, times ...time.Duration) {
	t.Helper()
	for _, d := range times {
		if err := b.Run(t.Context(), func(context.Context) error { time.Sleep(d); return nil }); err != nil {
			t.Fatalf("a call of %v: %v", d, err)
		}
	}
}

// slowAt is a breaker that half of two slow calls open.
func slowAt(limit time.Duration) *resilience.Breaker {
	return breaker(resilience.BreakerConfig{SlowCall: limit, MinCalls: 2, MaxProbeTime: -1})
}

// BRK-04: a success can open it; the limit itself is not slow.
func TestSlowSuccessesOpenTheBreaker(t *testing.T) {
	for _, c := range []struct {
		ratio float64
		min   int
		times []time.Duration
		want  events.State
	}{
		{0, 2, []time.Duration{1001, 1001}, events.StateOpen},
		{0, 2, []time.Duration{1000, 1000, 1000}, events.StateClosed},
		{0, 2, []time.Duration{1001}, events.StateClosed},
		{0, 2, []time.Duration{1000, 1001}, events.StateOpen}, // half of them
		{0.6, 2, []time.Duration{0, 1001, 0, 1001, 0}, events.StateClosed},
		{0.6, 2, []time.Duration{0, 1001, 1001}, events.StateOpen},
		{1, 3, []time.Duration{1001, 1001, 0, 1001}, events.StateClosed},
		{1, 3, []time.Duration{1001, 1001, 1001}, events.StateOpen},
		{0, 3, []time.Duration{1001, 1001, 0}, events.StateOpen}, // a quick one makes them enough
	} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			tape := record(bus)
			b := breaker(resilience.BreakerConfig{SlowCall: 1000, SlowRatio: c.ratio, MinCalls: c.min, Bus: bus})
			takes(t, b, c.times...)
			state(t, b, c.want)
			told := heard[events.BreakerStateChanged](tape)
			if c.want == events.StateOpen && (len(told) != 1 || told[0].Reason != events.ReasonSlow || told[0].SlowCalls == 0 ||
				told[0].SlowRatio != float64(told[0].SlowCalls)/float64(told[0].Calls) || told[0].SlowLimit == 0 || told[0].Failures != 0) {
				t.Errorf("%v: told %+v", c.times, told)
			}
		})
	}
}

// BRK-04, BRK-20: naming one of the two is enough.
func TestNamingASlowFieldSwitchesToThatMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, cfg := range []resilience.BreakerConfig{{SlowCall: 5 * time.Second}, {SlowRatio: 0.5}} {
			b := breaker(cfg)
			calls(t, b, "ffffff") // consecutive stays off
			for range 13 {
				takes(t, b, 0)
			}
			state(t, b, events.StateClosed)
			var leases []*resilience.Lease
			for range 19 {
				lease, err := b.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				leases = append(leases, lease)
			}
			time.Sleep(5*time.Second + 1)
			for i, lease := range leases {
				state(t, b, events.StateClosed)
				if lease.Release(nil); i == 18 {
					break
				}
			}
			state(t, b, events.StateOpen) // 19 of 38
			both := breaker(resilience.BreakerConfig{SlowCall: time.Second, ConsecutiveFailures: 2})
			calls(t, both, "ff")
			state(t, both, events.StateOpen)
		}
	})
}

// BRK-04: a hung dependency is seen by reading, and the next call is refused and makes the transition: no timer.
func TestHungCallsOpenTheBreakerBeforeTheyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		b := breaker(resilience.BreakerConfig{SlowCall: time.Second, MinCalls: 4, Bus: bus})
		began := time.Now()
		release := make(chan struct{})
		ended := make(chan error)
		for range 4 {
			go func() {
				ended <- b.Run(t.Context(), func(context.Context) error { <-release; return errBoom })
			}()
		}
		synctest.Wait()
		goroutines := runtime.NumGoroutine()
		time.Sleep(time.Second)
		state(t, b, events.StateClosed) // never early
		time.Sleep(250 * time.Millisecond)
		state(t, b, events.StateOpen) // at most a quarter late
		s := b.Snapshot()
		if s.Calls != 4 || s.SlowCalls != 4 || s.SlowRatio != 1 || s.Failures != 0 || s.Seq != 0 || s.Since.Before(began.Add(time.Second)) ||
			s.Since.After(time.Now()) || !s.NextProbe.Equal(time.Now().Add(30*time.Second)) || s.Spent[events.StateOpen] != 0 {
			t.Errorf("read %+v", s)
		}
		if n := len(heard[events.BreakerStateChanged](tape)); n != 0 || runtime.NumGoroutine() != goroutines {
			t.Errorf("reading made %d transitions, goroutines from %d to %d", n, goroutines, runtime.NumGoroutine())
		}
		if err := b.Run(t.Context(), succeed); !errors.Is(err, resilience.ErrBreakerOpen) {
			t.Errorf("the call that notices: %v", err)
		}
		told := heard[events.BreakerStateChanged](tape)
		if len(told) != 1 || told[0].Reason != events.ReasonSlow || told[0].SlowCalls != 4 || told[0].Calls != 4 {
			t.Fatalf("told %+v", told)
		}
		close(release)
		for range 4 {
			<-ended
		}
		if late := heard[events.LateResult](tape); len(late) != 4 {
			t.Errorf("%d late results, want 4", len(late))
		}
		if s := b.Snapshot(); s.Calls != 0 && s.State == events.StateClosed {
			t.Errorf("late ends counted: %+v", s)
		}
	})
}

// BRK-04: who was counted while it hung is not counted again when it ends.
func TestHungCallIsCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{SlowCall: time.Second, SlowRatio: 0.9, FailureRatio: 0.9, MinCalls: 100})
		for i, end := range []error{nil, errBoom} {
			lease, err := b.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			takes(t, b, 0) // notices
			for range 2 {
				want := fmt.Sprint(2*i+2, i+1)
				if s := b.Snapshot(); fmt.Sprint(s.Calls, s.SlowCalls) != want {
					t.Errorf("%d calls, %d slow; want %s", s.Calls, s.SlowCalls, want)
				}
				lease.Release(end)
			}
		}
		if s := b.Snapshot(); s.Failures != 1 {
			t.Errorf("%d failures, want 1", s.Failures)
		}
		time.Sleep(31 * time.Second)
		if s := b.Snapshot(); s.Calls != 0 || s.SlowCalls != 0 {
			t.Errorf("a window later: %+v", s)
		}
	})
}

// BRK-04, BRK-07: a slow probe has failed, and one that hangs is given up when it exceeds the limit.
func TestSlowProbeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := slowAt(time.Second)
		takes(t, b, 2*time.Second, 2*time.Second)
		time.Sleep(30 * time.Second)
		takes(t, b, time.Second+1)
		state(t, b, events.StateOpen)
		time.Sleep(30 * time.Second)
		hung, err := b.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		state(t, b, events.StateHalfOpen)
		time.Sleep(time.Nanosecond)
		if err := b.Run(t.Context(), succeed); !errors.Is(err, resilience.ErrBreakerOpen) {
			t.Errorf("beside a hung probe: %v", err)
		}
		state(t, b, events.StateOpen)
		hung.Release(nil)
		time.Sleep(30 * time.Second)
		takes(t, b, time.Second)
		state(t, b, events.StateClosed)
		if s := b.Snapshot(); s.Calls != 0 || s.SlowCalls != 0 {
			t.Errorf("closed with counts: %+v", s)
		}
	})
}

// BRK-19, PIPE-15: what the caller gives up counts by its duration, what its deadline ends always; a deadline is a failure
// only where CountDeadlines says so.
func TestCallersEndCountsByItsDuration(t *testing.T) {
	type config = resilience.BreakerConfig
	slow := config{SlowCall: time.Second, MinCalls: 2}
	slowDeadlines := config{SlowCall: time.Second, MinCalls: 2, CountDeadlines: true}
	plain := config{ConsecutiveFailures: 2}
	plainDeadlines := config{ConsecutiveFailures: 2, CountDeadlines: true, FailureIf: func(error) bool { return false }}
	for _, c := range []struct {
		name     string
		cfg      config
		deadline bool
		after    time.Duration
		want     string // calls, failures, slow calls of the first, then the state after a second
	}{
		{"cancelled soon", slow, false, time.Second, "0 0 0 closed"},
		{"cancelled late", slow, false, time.Second + 1, "1 0 1 open"},
		{"deadline soon", slow, true, time.Millisecond, "1 0 1 open"},
		{"deadline late", slow, true, 20 * time.Second, "1 0 1 open"},
		{"deadline soon, counted", slowDeadlines, true, time.Millisecond, "1 1 1 open"},
		{"cancelled late, deadlines counted", slowDeadlines, false, 20 * time.Second, "1 0 1 open"},
		{"cancelled late, no slow calls", plain, false, time.Minute, "0 0 0 closed"},
		{"deadline, no slow calls", plain, true, time.Minute, "0 0 0 closed"},
		{"deadline, counted", plainDeadlines, true, time.Second, "1 1 0 open"},
		{"cancelled, deadlines counted", plainDeadlines, false, time.Second, "0 0 0 closed"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := breaker(c.cfg)
			p := ints(events.NewBus(), b, resilience.Timeout{After: time.Hour})
			call := func() {
				ctx, cancel := context.WithCancel(t.Context())
				if c.deadline {
					ctx, cancel = context.WithTimeout(ctx, c.after)
				} else {
					time.AfterFunc(c.after, cancel)
				}
				defer cancel()
				if err := p.Run(ctx, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }); resilience.KindOf(err) != resilience.KindCanceled {
					t.Errorf("%s: %v", c.name, err)
				}
			}
			call()
			s := b.Snapshot()
			call()
			if got := fmt.Sprint(s.Calls, s.Failures, s.SlowCalls, b.State()); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
		})
	}
}

// BRK-19, BRK-17: what tells nothing about the dependency does not, slow or not.
func TestIgnoredCallsAreNotSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{SlowCall: time.Second, MinCalls: 1, FailureIf: func(error) bool { return false }})
		_ = b.Run(t.Context(), func(context.Context) error { time.Sleep(2 * time.Second); return errBoom })
		_ = b.Run(t.Context(), func(context.Context) error {
			time.Sleep(2 * time.Second)
			return resilience.Reject(events.ReasonShed, 0)
		})
		if s := b.Snapshot(); s.Calls != 0 || s.State != events.StateClosed {
			t.Errorf("counted: %+v", s)
		}
	})
}

// BRK-04, PIPE-13: who does not return leaves nothing behind under way.
func TestSlowCallThatDoesNotReturnIsNotUnderWayAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{SlowCall: time.Second, SlowRatio: 1, MinCalls: 50, Window: 10 * time.Second})
		for _, end := range []func(){func() { panic("oh") }, runtime.Goexit} {
			apart(func() {
				defer func() { _ = recover() }()
				_ = b.Run(t.Context(), func(context.Context) error { time.Sleep(2 * time.Second); end(); return nil })
			})
		}
		if s := b.Snapshot(); s.Calls != 2 || s.Failures != 2 || s.SlowCalls != 2 {
			t.Errorf("%+v", s)
		}
		time.Sleep(11 * time.Second)
		if s := b.Snapshot(); s.Calls != 0 {
			t.Errorf("left behind: %+v", s)
		}
	})
}
