package resilience_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// BRK-12: one schedule, a breaker that refuses and one in shadow mode: the same transitions with the same counts, and what
// the one refuses the other tells, and runs.
func TestShadowBreakerDoesWhatARealOneWould(t *testing.T) {
	for _, cfg := range []resilience.BreakerConfig{
		{ConsecutiveFailures: 2, Probes: 2}, {FailureRatio: 0.5, MinCalls: 3}, {SlowCall: time.Second, MinCalls: 2, Probes: 2, ProbeSuccesses: 3},
		{FailureRatio: 0.4, WindowCalls: 5, ConsecutiveFailures: 3},
	} {
		run := func(t *testing.T, shadow bool) (transitions, refusals []string, ran int) {
			bus := events.NewBus()
			tape := record(bus)
			cfg := cfg
			cfg.Bus, cfg.Shadow, cfg.Cooldown = bus, shadow, 5*time.Second
			b := breaker(cfg)
			p := ints(bus, b)
			for i := range 400 {
				switch i {
				case 100:
					b.ForceOpen()
				case 120:
					b.Reset()
				case 200:
					b.Disable()
				case 220:
					b.Enable()
				}
				go p.Do(t.Context(), func(context.Context) (int, error) {
					ran++
					time.Sleep(time.Duration(i*i%7) * 500 * time.Millisecond)
					if i*i%11 < 5 {
						return 0, errBoom
					}
					return 1, nil
				})
				synctest.Wait()
				time.Sleep(700*time.Millisecond + 1)
			}
			time.Sleep(time.Hour)
			for _, e := range heard[events.BreakerStateChanged](tape) {
				if e.Shadow != shadow {
					t.Errorf("told %+v", e)
				}
				transitions = append(transitions, fmt.Sprint(e.Seq, e.From, e.To, e.Reason, e.Calls, e.Failures, e.SlowCalls, e.At.UnixNano()))
			}
			for _, e := range heard[events.CallRejected](tape) {
				refusals = append(refusals, fmt.Sprint(e.Reason, e.RetryAfter, e.At.UnixNano(), e.Attempt))
			}
			told := 0
			for _, e := range heard[events.ShadowRejected](tape) {
				told++
				refusals = append(refusals, fmt.Sprint(e.Reason, e.RetryAfter, e.At.UnixNano(), e.Attempt))
			}
			if shadow && (told != len(refusals) || ran != 400) || !shadow && told != 0 {
				t.Errorf("shadow %v: %d shadow refusals of %d, %d calls ran", shadow, told, len(refusals), ran)
			}
			if got := b.Snapshot().Shadow; got != shadow {
				t.Errorf("the snapshot says shadow %v", got)
			}
			return transitions, refusals, ran
		}
		var transitions, refusals [2][]string
		var ran int
		synctest.Test(t, func(t *testing.T) { transitions[0], refusals[0], ran = run(t, false) })
		synctest.Test(t, func(t *testing.T) { transitions[1], refusals[1], _ = run(t, true) })
		if !slices.Equal(transitions[0], transitions[1]) || len(transitions[0]) < 15 {
			t.Errorf("transitions %q\nshadow %q", transitions[0], transitions[1])
		}
		if !slices.Equal(refusals[0], refusals[1]) || len(refusals[0]) != 400-ran || ran == 400 {
			t.Errorf("%d refusals, shadow %d; %d ran", len(refusals[0]), len(refusals[1]), ran)
		}
	}
}

// BRK-12: State reads what it would be in; the calls go through all the same, also by hand and one by one.
func TestShadowBreakerAdmitsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Shadow: true})
		calls(t, b, "ffffff")
		state(t, b, events.StateOpen)
		b.ForceOpen()
		calls(t, b, "sf")
		state(t, b, events.StateForcedOpen)
		b.Reset()
		calls(t, b, "f")
		time.Sleep(30 * time.Second)
		probe, err := b.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		calls(t, b, "fff") // beside the probe: they do not count
		state(t, b, events.StateHalfOpen)
		probe.Release(nil)
		state(t, b, events.StateClosed)
	})
}

// BRK-12: how a call ends that does not count is asked of nobody, and is no late result.
func TestShadowBreakerHasNoLateResultsOfWhatItWouldHaveRefused(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	asked := 0
	b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Shadow: true, Bus: bus, FailureIf: func(error) bool { asked++; return true }})
	calls(t, b, "fffsf")
	if late := heard[events.LateResult](tape); len(late) != 0 || asked != 1 || len(heard[events.ShadowRejected](tape)) != 4 {
		t.Errorf("asked %d times; %d late results", asked, len(late))
	}
}

// BRK-12, PIPE-13: a handler that ends the goroutine while it is told, and operations that do not return, leave nothing.
func TestShadowRejectionsMayEndTheGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Shadow: true, MaxProbeTime: -1, Bus: bus})
		calls(t, b, "f")
		cancel := bus.ShadowRejected.Subscribe(func(context.Context, events.ShadowRejected) { runtime.Goexit() })
		apart(func() { _ = b.Run(t.Context(), succeed) })
		cancel()
		apart(func() { _ = b.Run(t.Context(), func(context.Context) error { runtime.Goexit(); return nil }) })
		time.Sleep(30 * time.Second)
		calls(t, b, "s")
		state(t, b, events.StateClosed)
	})
}
