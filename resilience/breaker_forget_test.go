package resilience_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// What is forgotten may leave a share of failures that opens the breaker; the next call that is counted decides so, and be
// it a success.

// BRK-02, BRK-04
func TestASuccessOpensABreakerThatHasForgottenItsSuccesses(t *testing.T) {
	for _, slow := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			b := breaker(resilience.BreakerConfig{FailureRatio: 0.5, MinCalls: 4, Window: 10 * time.Second, SlowCall: slow})
			time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
			calls(t, b, "ssssss")
			time.Sleep(5 * time.Second)
			calls(t, b, "fff")
			state(t, b, events.StateClosed)
			time.Sleep(6 * time.Second)
			calls(t, b, "s")
			state(t, b, events.StateOpen)
			if s := b.Snapshot(); s.Calls != 0 && (s.Calls != 4 || s.Failures != 3) {
				t.Errorf("slow %v: %+v", slow, s)
			}
		})
	}
}

// BRK-02, BRK-04: calls that hung were counted, and are not any more when they turn out to be nobody's failure.
func TestASuccessOpensABreakerWhoseHungCallsCountNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{FailureRatio: 0.5, SlowCall: time.Second, SlowRatio: 1, MinCalls: 4,
			FailureIf: func(err error) bool { return err == errBoom }})
		release := make(chan struct{})
		for range 2 {
			go b.Run(t.Context(), func(context.Context) error { <-release; return errStatus })
		}
		time.Sleep(2 * time.Second)
		calls(t, b, "fssff") // 3 of 7, the two that hang included
		state(t, b, events.StateClosed)
		close(release)
		synctest.Wait()
		calls(t, b, "s") // 3 of 6
		state(t, b, events.StateOpen)
	})
}

// BRK-11: what was counted before does not show in a breaker that counts nothing.
func TestADisabledBreakerHasForgottenWhatItCounted(t *testing.T) {
	for _, cfg := range []resilience.BreakerConfig{
		{ConsecutiveFailures: 3}, {FailureRatio: 0.5}, {FailureRatio: 0.5, WindowCalls: 20}, {SlowCall: time.Second, ConsecutiveFailures: 3},
	} {
		b := breaker(cfg)
		calls(t, b, "ff")
		if s := b.Snapshot(); s.Calls != 2 || s.Failures != 2 {
			t.Errorf("%+v: before, %+v", cfg, s)
		}
		b.Disable()
		if s := b.Snapshot(); s.Calls != 0 || s.Failures != 0 || s.FailureRatio != 0 {
			t.Errorf("%+v: disabled, %+v", cfg, s)
		}
	}
}

// BRK-05, BRK-11: a command is no failure, whatever failed before.
func TestABreakerThatIsForcedOpenBlamesNoFailure(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 2, Bus: bus})
	calls(t, b, "f")
	b.ForceOpen()
	open, ok := b.Run(t.Context(), succeed).(*resilience.BreakerOpenError)
	if !ok || open.LastFailure != nil {
		t.Errorf("refused with %+v", open)
	}
	if told := heard[events.BreakerStateChanged](tape); len(told) != 1 || told[0].Err != nil {
		t.Errorf("told %+v", told)
	}
}
