package resilience_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// BRK-03
func TestBreakerCountsItsLastCalls(t *testing.T) {
	for _, c := range []struct {
		ratio       float64
		window, min int
		outcomes    string
		want        events.State
	}{
		{0.5, 4, 4, "fff", events.StateClosed},
		{0.5, 4, 4, "ffsf", events.StateOpen},
		{0.5, 4, 4, "ssssf", events.StateClosed},
		{0.5, 4, 4, "ssssssssff", events.StateOpen},
		{0.5, 4, 4, "fsssfsssfsssfsss", events.StateClosed}, // one of four, always
		{0.5, 4, 0, "sfsf", events.StateOpen},               // MinCalls is the window where that is less than 20
		{0.5, 4, 0, "fff", events.StateClosed},
		{1, 1, 0, "sssf", events.StateOpen},
		{0.5, 100, 0, "fffffffffffffffffff", events.StateClosed}, // 19 of 20
		{0.5, 100, 0, "ffffffffffffffffffff", events.StateOpen},
		{0.75, 4, 4, "fsff", events.StateOpen},
		{0.75, 4, 4, "ssffsf", events.StateOpen},
	} {
		b := breaker(resilience.BreakerConfig{FailureRatio: c.ratio, WindowCalls: c.window, MinCalls: c.min})
		calls(t, b, c.outcomes)
		if b.State() != c.want {
			t.Errorf("%v of %d, at least %d, %s: %v, want %v", c.ratio, c.window, c.min, c.outcomes, b.State(), c.want)
		}
	}
}

// BRK-03: time changes nothing, and a close starts anew.
func TestCountWindowForgetsByCallsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{FailureRatio: 0.5, WindowCalls: 4})
		calls(t, b, "sf")
		time.Sleep(1000 * time.Hour)
		if s := b.Snapshot(); s.Calls != 2 || s.Failures != 1 || s.Limit != 0.5 {
			t.Errorf("an age later: %+v", s)
		}
		calls(t, b, "sf")
		state(t, b, events.StateOpen)
		time.Sleep(30 * time.Second)
		calls(t, b, "s")
		calls(t, b, "fsf")
		state(t, b, events.StateClosed)
		calls(t, b, "f")
		state(t, b, events.StateOpen)
	})
}

// BRK-03, BRK-20: slow calls alone switch to the window, too.
func TestCountWindowCountsSlowCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{SlowCall: time.Second, WindowCalls: 4})
		takes(t, b, 2*time.Second, 0, 2*time.Second)
		state(t, b, events.StateClosed)
		calls(t, b, "f")
		state(t, b, events.StateOpen)
		if s := b.Snapshot(); s.Calls != 4 || s.SlowCalls != 2 || s.SlowRatio != 0.5 || s.SlowLimit != 0.5 || s.Limit != 0 {
			t.Errorf("%+v", s)
		}
	})
}
