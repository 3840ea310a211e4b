package resilience_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// breaker makes one on a bus of its own.
func breaker(cfg resilience.BreakerConfig) *resilience.Breaker {
	cfg.Name = "db"
	if cfg.Bus == nil {
		cfg.Bus = events.NewBus()
	}
	return resilience.MustBreaker(cfg)
}

// calls runs one call through b for each letter: s succeeds, f fails.
func calls(t *testing.T, b *resilience.Breaker, outcomes string) {
	t.Helper()
	for i, o := range outcomes {
		op := succeed
		if o == 'f' {
			op = fail
		}
		if err := b.Run(t.Context(), op); err != nil && err != errBoom {
			t.Fatalf("call %d of %s: %v", i+1, outcomes, err)
		}
	}
}

func state(t *testing.T, b *resilience.Breaker, want events.State) {
	t.Helper()
	if got, snapshot := b.State(), b.Snapshot().State; got != want || snapshot != want {
		t.Errorf("state %v, snapshot %v; want %v", got, snapshot, want)
	}
}

// BRK-01
func TestBreakerOpensAtExactlyTheThreshold(t *testing.T) {
	for _, c := range []struct {
		outcomes string
		want     events.State
	}{
		{"ff", events.StateClosed}, {"fff", events.StateOpen}, {"ffsff", events.StateClosed}, {"ffsfff", events.StateOpen},
		{"ssssfsfsfsffsffssff", events.StateClosed},
	} {
		b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 3})
		calls(t, b, c.outcomes)
		if b.State() != c.want {
			t.Errorf("%s: %v, want %v", c.outcomes, b.State(), c.want)
		}
	}
}

// BRK-01, PIPE-05: errors and failing values share one count, and so do pipelines of different types.
func TestFailuresOfEveryKindAndPipelineShareOneCount(t *testing.T) {
	b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 3})
	numbers := ints(events.NewBus(), b)
	texts := resilience.MustPipeline(resilience.PipelineConfig[string]{Name: "texts", Layers: []resilience.Layer{b}, Bus: events.NewBus(),
		Classify: func(s string, err error) error {
			if s == "bad" {
				return errBoom
			}
			return err
		}})
	_ = numbers.Run(t.Context(), fail)
	_, _ = texts.Do(t.Context(), func(context.Context) (string, error) { return "bad", nil })
	state(t, b, events.StateClosed)
	_ = b.Run(t.Context(), fail)
	state(t, b, events.StateOpen)
}

// BRK-02
func TestBreakerOpensAtTheRatioOfEnoughCalls(t *testing.T) {
	for _, c := range []struct {
		ratio    float64
		min      int
		outcomes string
		want     events.State
	}{
		{0.5, 4, "fff", events.StateClosed},
		{0.5, 4, "ffff", events.StateOpen},
		{0.5, 4, "sfsf", events.StateOpen},
		{0.5, 4, "ffss", events.StateOpen}, // a success makes it enough
		{0.5, 4, "ssssfff", events.StateClosed},
		{0.5, 4, "ssssffff", events.StateOpen},
		{1, 2, "sffffffff", events.StateClosed},
		{1, 2, "ff", events.StateOpen},
		{1e-300, 2, "ss", events.StateClosed}, // no failure at all is below every ratio
		{1e-300, 2, "sf", events.StateOpen},
		{0.55, 20, "sssssssssfffffffffff", events.StateOpen}, // 11 of 20: 0.55 x 20 is above 11 in floating point
	} {
		b := breaker(resilience.BreakerConfig{FailureRatio: c.ratio, MinCalls: c.min})
		calls(t, b, c.outcomes)
		if b.State() != c.want {
			t.Errorf("ratio %v, %d calls, %s: %v, want %v", c.ratio, c.min, c.outcomes, b.State(), c.want)
		}
	}
}

// BRK-02: for each share of up to 100 calls that a person would write.
func TestBreakerMeetsEveryRatioExactly(t *testing.T) {
	for n := 1; n <= 100; n++ {
		for k := 1; k <= n; k += 1 + n/10 {
			b := breaker(resilience.BreakerConfig{FailureRatio: float64(k) / float64(n), MinCalls: n})
			for range n - k {
				_ = b.Run(t.Context(), succeed)
			}
			for range k - 1 {
				_ = b.Run(t.Context(), fail)
			}
			if b.State() != events.StateClosed {
				t.Fatalf("%d of %d: open too early", k, n)
			}
			_ = b.Run(t.Context(), fail)
			if b.State() != events.StateOpen {
				t.Fatalf("%d of %d: not open", k, n)
			}
		}
	}
}

// BRK-02
func TestBreakerForgetsWhatIsOlderThanItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{FailureRatio: 0.5, MinCalls: 4, Window: 10 * time.Second})
		calls(t, b, "fff")
		time.Sleep(10 * time.Second)
		if s := b.Snapshot(); s.Calls != 0 || s.Failures != 0 {
			t.Errorf("a window later %d calls still count", s.Calls)
		}
		calls(t, b, "fff")
		state(t, b, events.StateClosed)
		time.Sleep(8 * time.Second)
		calls(t, b, "f")
		state(t, b, events.StateOpen)
	})
}

// BRK-05
func TestBreakerRejectsWhileOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Cooldown: 10 * time.Second})
		calls(t, b, "f")
		for _, left := range []time.Duration{10 * time.Second, 4 * time.Second, time.Nanosecond} {
			time.Sleep(10*time.Second - left - time.Since(b.Snapshot().Since))
			err := b.Run(t.Context(), func(context.Context) error { t.Error("the operation ran"); return nil })
			open := new(resilience.BreakerOpenError)
			if !errors.As(err, &open) || !errors.Is(err, resilience.ErrBreakerOpen) {
				t.Fatalf("got %v", err)
			}
			if open.Name != "db" || open.State != events.StateOpen || open.LastFailure != errBoom || open.RetryAfter() != left {
				t.Errorf("%+v, retry after %v; want what is left, %v", open, open.RetryAfter(), left)
			}
		}
		time.Sleep(time.Nanosecond)
		if err := b.Run(t.Context(), succeed); err != nil {
			t.Errorf("after the cooldown: %v", err)
		}
		state(t, b, events.StateClosed)
	})
}

// BRK-05
func TestRefusalSpeaksOfTheStateItRefusesIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1})
		calls(t, b, "f")
		refused := func(want string) {
			t.Helper()
			if err := b.Run(t.Context(), succeed); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		refused("resilience: circuit breaker db is open, retry after 30s (last failure: boom)")
		time.Sleep(30 * time.Second)
		_ = b.Run(t.Context(), func(context.Context) error {
			refused("resilience: circuit breaker db is half open (last failure: boom)")
			return nil
		})
		b.ForceOpen()
		refused("resilience: circuit breaker db is forced open")
	})
}

// BRK-20
func TestZeroConfigIsFiveFailuresInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{})
		calls(t, b, "ffff")
		state(t, b, events.StateClosed)
		calls(t, b, "f")
		time.Sleep(30*time.Second - 1)
		state(t, b, events.StateOpen)
		time.Sleep(time.Nanosecond)
		probe, err := b.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Acquire(t.Context()); !errors.Is(err, resilience.ErrBreakerOpen) {
			t.Errorf("a second probe: %v", err)
		}
		probe.Release(nil)
		state(t, b, events.StateClosed)
	})
}

// BRK-20
func TestNamingARatioLeavesTheOtherModeOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{FailureRatio: 0.9})
		calls(t, b, "fffffffffffffffffff") // 19: below MinCalls
		state(t, b, events.StateClosed)
		time.Sleep(30 * time.Second)
		calls(t, b, "f")
		if s := b.Snapshot(); s.Calls != 1 || s.Limit != 0.9 || s.State != events.StateClosed {
			t.Errorf("after the default window: %+v", s)
		}
		both := breaker(resilience.BreakerConfig{FailureRatio: 0.9, ConsecutiveFailures: 3})
		calls(t, both, "fff")
		state(t, both, events.StateOpen)
	})
}

// BRK-05, BRK-06: huge and tiny settings neither overflow nor hang.
func TestBreakerTakesExtremeSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Cooldown: math.MaxInt64, MaxProbeTime: math.MaxInt64, Probes: math.MaxInt, ProbeSuccesses: math.MaxInt})
		calls(t, forever, "f")
		time.Sleep(99 * 365 * 24 * time.Hour)
		state(t, forever, events.StateOpen)
		if left := time.Until(forever.Snapshot().NextProbe); left <= 0 || left > 2*365*24*time.Hour {
			t.Errorf("next probe in %v", left)
		}
		many := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Cooldown: 1, Probes: math.MaxInt, ProbeSuccesses: 3})
		calls(t, many, "f")
		time.Sleep(time.Nanosecond)
		calls(t, many, "sss")
		state(t, many, events.StateClosed)
		tiny := breaker(resilience.BreakerConfig{FailureRatio: 1, MinCalls: 2, Window: 10})
		calls(t, tiny, "f")
		time.Sleep(10 * time.Nanosecond)
		calls(t, tiny, "f")
		state(t, tiny, events.StateClosed)
		calls(t, tiny, "f")
		state(t, tiny, events.StateOpen)
		patient := breaker(resilience.BreakerConfig{FailureRatio: 1, MinCalls: math.MaxInt, Window: math.MaxInt64, ConsecutiveFailures: math.MaxInt})
		calls(t, patient, "ffffff")
		state(t, patient, events.StateClosed)
	})
}
