package resilience_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// BRK-09
func TestCooldownGrowsWithEachOpeningAndStartsAnewAfterAClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Cooldown: 7 * time.Second, Bus: bus, CooldownFunc: func(openings int) time.Duration {
			if openings == 4 {
				return -1 // means Cooldown
			}
			return time.Duration(openings) * time.Second
		}})
		for _, want := range []time.Duration{1, 2, 3, 7, 5} {
			if next := b.Snapshot().Cooldown; next != want*time.Second {
				t.Errorf("the next cooldown will be %v, want %v", next, want*time.Second)
			}
			calls(t, b, "f")
			time.Sleep(want*time.Second - 1)
			state(t, b, events.StateOpen)
			time.Sleep(time.Nanosecond)
			state(t, b, events.StateHalfOpen)
		}
		calls(t, b, "s")
		calls(t, b, "f")
		var told []time.Duration
		for _, e := range heard[events.BreakerStateChanged](tape) {
			if e.To == events.StateOpen {
				told = append(told, e.Cooldown/time.Second)
			} else if e.Cooldown != 0 {
				t.Errorf("a cooldown of %v in %v", e.Cooldown, e.To)
			}
		}
		if want := []time.Duration{1, 2, 3, 7, 5, 1}; !slices.Equal(told, want) {
			t.Errorf("cooldowns %v, want %v", told, want)
		}
		b.Reset()
		calls(t, b, "f")
		if got := b.Snapshot().Cooldown; got != time.Second {
			t.Errorf("after Reset the first cooldown is %v", got)
		}
	})
}

// BRK-10
func TestReadingShowsHalfOpenWithoutMakingTheTransition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Cooldown: 10 * time.Second, Bus: bus})
		began := time.Now()
		calls(t, b, "f")
		if s := b.Snapshot(); !s.Since.Equal(began) || !s.NextProbe.Equal(began.Add(10*time.Second)) || s.Seq != 1 || s.Cooldown != 10*time.Second {
			t.Errorf("open: %+v", s)
		}
		time.Sleep(15 * time.Second)
		for range 3 {
			state(t, b, events.StateHalfOpen)
		}
		if s := b.Snapshot(); !s.Since.Equal(began.Add(10*time.Second)) || !s.NextProbe.IsZero() || s.Seq != 1 {
			t.Errorf("half-open: %+v", s)
		}
		if n := len(heard[events.BreakerStateChanged](tape)); n != 1 {
			t.Errorf("%d transitions were told, want the opening alone", n)
		}
		_ = b.Run(t.Context(), func(context.Context) error {
			if changes := heard[events.BreakerStateChanged](tape); len(changes) != 2 || changes[1].Reason != events.ReasonCooldown {
				t.Errorf("told at the next admission: %+v", changes)
			}
			return nil
		})
	})
}

// BRK-10: the time in each state adds up to all the time there was, whenever it is read.
func TestTimeSpentAddsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Cooldown: 10 * time.Second})
		began := time.Now()
		var want [6]time.Duration
		stay := func(in events.State, d time.Duration) {
			t.Helper()
			time.Sleep(d)
			want[in] += d
			var sum time.Duration
			for _, spent := range b.Snapshot().Spent {
				sum += spent
			}
			if got := b.Snapshot().Spent; got != want || sum != time.Since(began) {
				t.Errorf("spent %v, want %v", got, want)
			}
		}
		stay(events.StateClosed, time.Second)
		calls(t, b, "f")
		stay(events.StateOpen, 3*time.Second)
		stay(events.StateOpen, 7*time.Second)
		stay(events.StateHalfOpen, 20*time.Second) // nobody calls: the transition is not made
		calls(t, b, "f")
		stay(events.StateOpen, 10*time.Second)
		stay(events.StateHalfOpen, time.Second)
		probe, _ := b.Acquire(t.Context())
		stay(events.StateHalfOpen, 5*time.Second)
		b.ForceOpen()
		probe.Release(nil)
		stay(events.StateForcedOpen, time.Hour)
		b.Reset()
		stay(events.StateClosed, time.Minute)
	})
}

// BRK-11
func TestResetAndForceOpenWorkFromEveryState(t *testing.T) {
	for _, from := range []events.State{events.StateClosed, events.StateOpen, events.StateHalfOpen, events.StateForcedOpen} {
		for name, command := range map[string]struct {
			do   func(*resilience.Breaker)
			want events.State
		}{
			"Reset": {(*resilience.Breaker).Reset, events.StateClosed}, "ForceOpen": {(*resilience.Breaker).ForceOpen, events.StateForcedOpen},
		} {
			synctest.Test(t, func(t *testing.T) {
				bus := events.NewBus()
				tape := record(bus)
				b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 2, Bus: bus})
				calls(t, b, "f")
				switch from {
				case events.StateForcedOpen:
					b.ForceOpen()
				case events.StateOpen, events.StateHalfOpen:
					calls(t, b, "f")
				}
				if from == events.StateHalfOpen {
					time.Sleep(30 * time.Second)
					hung, _ := b.Acquire(t.Context())
					defer hung.Release(nil)
				}
				before := len(heard[events.BreakerStateChanged](tape))
				command.do(b)
				command.do(b)
				told := heard[events.BreakerStateChanged](tape)[before:]
				if from == command.want {
					if len(told) != 0 {
						t.Errorf("%s while %v told %+v", name, from, told)
					}
				} else if len(told) != 1 || told[0].From != from || told[0].To != command.want || told[0].Reason != events.ReasonManual {
					t.Errorf("%s while %v told %+v", name, from, told)
				}
				time.Sleep(time.Hour) // forced open stays
				state(t, b, command.want)
				if command.want == events.StateForcedOpen {
					if err := b.Run(t.Context(), succeed); err == nil {
						t.Error("a forced-open breaker let a call through")
					}
					return
				}
				calls(t, b, "f") // the failure before Reset is forgotten
				state(t, b, events.StateClosed)
				calls(t, b, "f")
				state(t, b, events.StateOpen)
			})
		}
	}
}

// BRK-10: reading races with nothing.
func TestReadingRacesWithNothing(t *testing.T) {
	for _, cfg := range []resilience.BreakerConfig{
		{ConsecutiveFailures: 2, Cooldown: 1}, {FailureRatio: 0.5, MinCalls: 2, Window: 10, Cooldown: 1, CooldownFunc: func(n int) time.Duration { return time.Duration(n) }},
	} {
		b := breaker(cfg)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := range 2000 {
					op := succeed
					if (n+i)%3 == 0 {
						op = fail
					}
					_ = b.Run(context.Background(), op)
					if n%100 == 0 {
						b.Reset()
					}
					if s := b.Snapshot(); s.Failures > s.Calls || s.State == 0 || b.State() == 0 {
						t.Errorf("read %+v", s)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}
