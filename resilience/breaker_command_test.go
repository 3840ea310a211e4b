package resilience_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// inState returns a breaker, which two failures open, in a state, with a call under way that was admitted in it, if it
// admits any. It is for synctest bubbles.
func inState(t *testing.T, cfg resilience.BreakerConfig, in events.State) (*resilience.Breaker, *resilience.Lease) {
	t.Helper()
	cfg.ConsecutiveFailures = 2
	b := breaker(cfg)
	calls(t, b, "f")
	switch in {
	case events.StateClosed:
	case events.StateForcedOpen:
		b.ForceOpen()
	case events.StateDisabled:
		b.Disable()
	case events.StateOpen, events.StateHalfOpen:
		calls(t, b, "f")
	}
	if in == events.StateHalfOpen {
		time.Sleep(30 * time.Second)
	}
	lease, _ := b.Acquire(t.Context())
	state(t, b, in)
	return b, lease
}

// BRK-11: every command in every state, twice: it is told once, and only if the state changes.
func TestCommandsWorkFromEveryState(t *testing.T) {
	const closed, open, halfOpen, forced, disabled = events.StateClosed, events.StateOpen, events.StateHalfOpen, events.StateForcedOpen, events.StateDisabled
	reset, force, disable, enable := (*resilience.Breaker).Reset, (*resilience.Breaker).ForceOpen, (*resilience.Breaker).Disable, (*resilience.Breaker).Enable
	for _, c := range []struct {
		name     string
		do       func(*resilience.Breaker)
		from, to events.State
	}{
		{"Reset", reset, closed, closed}, {"Reset", reset, open, closed}, {"Reset", reset, halfOpen, closed},
		{"Reset", reset, forced, closed}, {"Reset", reset, disabled, closed},
		{"ForceOpen", force, closed, forced}, {"ForceOpen", force, open, forced}, {"ForceOpen", force, halfOpen, forced},
		{"ForceOpen", force, forced, forced}, {"ForceOpen", force, disabled, forced},
		{"Disable", disable, closed, disabled}, {"Disable", disable, open, disabled}, {"Disable", disable, halfOpen, disabled},
		{"Disable", disable, forced, disabled}, {"Disable", disable, disabled, disabled},
		{"Enable", enable, closed, closed}, {"Enable", enable, open, open}, {"Enable", enable, halfOpen, halfOpen},
		{"Enable", enable, forced, forced}, {"Enable", enable, disabled, closed},
	} {
		for _, cfg := range []resilience.BreakerConfig{{}, {SlowCall: time.Second}, {FailureRatio: 1, WindowCalls: 100}, {FailureRatio: 1}} {
			synctest.Test(t, func(t *testing.T) {
				cfg.Bus = events.NewBus()
				tape := record(cfg.Bus)
				b, under := inState(t, cfg, c.from)
				before := len(heard[events.BreakerStateChanged](tape))
				c.do(b)
				c.do(b)
				state(t, b, c.to)
				told := heard[events.BreakerStateChanged](tape)[before:]
				if c.from == c.to && len(told) != 0 {
					t.Errorf("%s while %v told %+v", c.name, c.from, told)
				}
				if c.from != c.to && (len(told) != 1 || told[0].From != c.from || told[0].To != c.to || told[0].Reason != events.ReasonManual || told[0].Seq != b.Snapshot().Seq) {
					t.Errorf("%s while %v told %+v", c.name, c.from, told)
				}
				if under != nil {
					under.Release(errBoom)
					late := len(heard[events.LateResult](tape)) == 1
					if late != (c.from != c.to) {
						t.Errorf("%s while %v: a call from before is late: %v", c.name, c.from, late)
					}
				}
				if c.to != c.from && c.to == closed { // it starts anew
					calls(t, b, "f")
					state(t, b, closed)
					calls(t, b, "f")
					state(t, b, open)
				}
				if c.to == forced || c.to == disabled {
					time.Sleep(1000 * time.Hour)
					state(t, b, c.to)
				}
			})
		}
	}
}

// BRK-11
func TestDisabledBreakerAdmitsEverythingAndCountsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, cfg := range []resilience.BreakerConfig{
			{ConsecutiveFailures: 1, FailureIf: func(error) bool { t.Error("asked what counts"); return true }},
			{FailureRatio: 0.1, MinCalls: 1}, {SlowCall: 1, MinCalls: 1}, {SlowRatio: 0.1, WindowCalls: 1}, {ConsecutiveFailures: 1, CountDeadlines: true},
		} {
			b := breaker(cfg)
			b.Disable()
			began := time.Now()
			for range 10 {
				_ = b.Run(t.Context(), func(context.Context) error { time.Sleep(time.Minute); return errBoom })
				takes(t, b, time.Minute)
			}
			s := b.Snapshot()
			if s.State != events.StateDisabled || s.Calls != 0 || s.SlowCalls != 0 || s.Spent[events.StateDisabled] != time.Since(began) || !s.Since.Equal(began) {
				t.Errorf("%+v", s)
			}
			b.Enable()
			if s := b.Snapshot(); s.State != events.StateClosed || s.Calls != 0 {
				t.Errorf("enabled: %+v", s)
			}
		}
	})
}

// BRK-11, BRK-09: Disable takes the growth of the cooldown away, too.
func TestDisableForgetsTheGrowthOfTheCooldown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, CooldownFunc: func(n int) time.Duration { return time.Duration(n) * time.Second }})
		calls(t, b, "f")
		time.Sleep(time.Second)
		calls(t, b, "f")
		var next []time.Duration
		for _, do := range []func(){b.ForceOpen, b.Disable, b.Enable, func() { calls(t, b, "f") }} {
			do()
			next = append(next, b.Snapshot().Cooldown/time.Second)
		}
		if want := []time.Duration{3, 1, 1, 1}; !slices.Equal(next[1:], want[1:]) {
			t.Errorf("cooldowns %v, want %v", next, want)
		}
	})
}

// BRK-11, BRK-14: from inside a handler of the transition.
func TestHandlerMayCommandTheBreaker(t *testing.T) {
	bus := events.NewBus()
	b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Bus: bus})
	var told []string
	bus.BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) {
		told = append(told, fmt.Sprint(e.From, " ", e.To))
		if e.To == events.StateOpen {
			b.Disable()
			b.Enable()
		}
	})
	done := make(chan struct{})
	bus.BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) {
		if e.Seq == 3 {
			close(done)
		}
	})
	calls(t, b, "f")
	<-done // what comes while one is told may be told by another goroutine
	if want := []string{"closed open", "open disabled", "disabled closed"}; !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
}
