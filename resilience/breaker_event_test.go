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

// BRK-13: each once, in order, with the counts as they were when the decision fell.
func TestEveryTransitionIsToldWithTheCountsOfItsDecision(t *testing.T) {
	for _, c := range []struct {
		cfg  resilience.BreakerConfig
		open string // the outcomes that open it
		want string // how that is told
	}{
		{resilience.BreakerConfig{ConsecutiveFailures: 3}, "sfff", "3 of 3, limit 3, consecutive, for 30s"},
		{resilience.BreakerConfig{FailureRatio: 0.5, MinCalls: 5}, "ssfff", "3 of 5, limit 0.5, ratio, for 30s"},
		{resilience.BreakerConfig{FailureRatio: 0.5, MinCalls: 50, ConsecutiveFailures: 2}, "ssff", "2 of 2, limit 2, consecutive, for 30s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			tape := record(bus)
			c.cfg.Bus, c.cfg.Probes = bus, 2
			b := breaker(c.cfg)
			calls(t, b, c.open)
			time.Sleep(30 * time.Second)
			calls(t, b, "sf")
			time.Sleep(30 * time.Second)
			calls(t, b, "ss")
			b.ForceOpen()
			b.Reset()
			b.Reset()
			told := heard[events.BreakerStateChanged](tape)
			opening := fmt.Sprintf("%d of %d, limit %v, %v, for %v", told[0].Failures, told[0].Calls, told[0].Limit, told[0].Reason, told[0].Cooldown)
			if opening != c.want {
				t.Errorf("opening: %s, want %s", opening, c.want)
			}
			var got []string
			for _, e := range told {
				got = append(got, fmt.Sprintf("%d %v->%v %v %v", e.Seq, e.From, e.To, e.Reason, e.Err))
			}
			want := []string{
				"1 closed->open " + told[0].Reason.String() + " boom",
				"2 open->half_open cooldown boom", "3 half_open->open probe_failed boom", "4 open->half_open cooldown boom",
				"5 half_open->closed probes_ok <nil>", "6 closed->forced_open manual <nil>", "7 forced_open->closed manual <nil>",
			}
			if !slices.Equal(got, want) {
				t.Errorf("told %q", got)
			}
			failed, ok := told[2], told[4]
			if failed.Calls != 2 || failed.Failures != 1 || failed.FailureRatio != 0.5 || ok.Calls != 2 || ok.Failures != 0 {
				t.Errorf("probes: %+v, then %+v", failed, ok)
			}
		})
	}
}

// BRK-13, BUS-03: a rejection names the transition that it follows from.
func TestRejectionsAreAllToldAndNameTheirTransition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Bus: bus})
		calls(t, b, "f")
		p := ints(bus, b)
		for range 5 {
			_ = p.Run(t.Context(), succeed)
		}
		time.Sleep(30 * time.Second)
		_ = b.Run(t.Context(), func(context.Context) error { return p.Run(t.Context(), succeed) })
		b.ForceOpen()
		_ = b.Run(t.Context(), succeed)
		var got []string
		for _, e := range heard[events.CallRejected](tape) {
			got = append(got, fmt.Sprintf("%v after %d, retry after %v", e.Reason, e.StateSeq, e.RetryAfter))
		}
		open := "open after 1, retry after 30s"
		if want := []string{open, open, open, open, open, "probing after 2, retry after 0s", "forced_open after 3, retry after 0s"}; !slices.Equal(got, want) {
			t.Errorf("rejections %q", got)
		}
	})
}

// BRK-14: any method, and a call through the breaker, from inside a handler of its transitions.
func TestHandlerMayUseTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Bus: bus})
		var seen []string
		bus.BreakerStateChanged.Subscribe(func(ctx context.Context, e events.BreakerStateChanged) {
			seen = append(seen, fmt.Sprint(e.Seq, e.To, b.State(), b.Snapshot().State))
			_ = b.Run(ctx, fail)
			if e.Seq < 20 {
				b.Reset()
				_ = b.Run(ctx, fail) // opens it again, or is late
			}
		})
		calls(t, b, "f")
		synctest.Wait()
		last := uint64(0)
		for _, s := range seen {
			var seq uint64
			_, _ = fmt.Sscan(s, &seq)
			if seq != last+1 {
				t.Fatalf("transition %d after %d: %q", seq, last, seen)
			}
			last = seq
		}
		if s := b.Snapshot(); s.Seq != last || last < 20 {
			t.Errorf("told up to %d of %d", last, s.Seq)
		}
	})
}

// BRK-14, PIPE-13: a handler that ends the goroutine during the admission of a probe leaves no slot behind.
func TestGoexitOfAHandlerFreesTheProbesSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, alone := range []bool{true, false} {
			bus := events.NewBus()
			b := probing(t, resilience.BreakerConfig{MaxProbeTime: -1, Bus: bus})
			run := b.Run
			if !alone {
				run = ints(bus, b).Run
			}
			cancel := bus.BreakerStateChanged.Subscribe(func(context.Context, events.BreakerStateChanged) { runtime.Goexit() })
			apart(func() {
				_ = run(t.Context(), func(context.Context) error { t.Error("the operation ran"); return nil })
				t.Error("the call returned")
			})
			cancel()
			state(t, b, events.StateHalfOpen)
			calls(t, b, "s")
			state(t, b, events.StateClosed)
		}
	})
}

// BRK-09, PIPE-13: nor does a CooldownFunc that panics or ends the goroutine.
func TestCooldownFuncMayPanicOrEndItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, end := range map[string]func(){"panic": func() { panic("oh") }, "goexit": runtime.Goexit} {
			bus := events.NewBus()
			tape := record(bus)
			b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Cooldown: time.Second, Bus: bus, CooldownFunc: func(openings int) time.Duration {
				if openings > 1 {
					end()
				}
				return time.Minute
			}})
			apart(func() { _ = b.Run(t.Context(), fail) })
			state(t, b, events.StateOpen)
			time.Sleep(time.Minute)
			apart(func() { _ = b.Run(t.Context(), fail) })
			time.Sleep(time.Second) // Cooldown, for the function said nothing
			calls(t, b, "s")
			if got := len(heard[events.BreakerStateChanged](tape)); got != 5 {
				t.Errorf("%s: %d transitions were told, want 5", name, got)
			}
			if told := heard[events.CallbackPanicked](tape); name == "panic" && (len(told) != 2 || told[0].Callback != "BreakerConfig.CooldownFunc") {
				t.Errorf("told %+v", told)
			}
		}
	})
}

// BRK-09, PIPE-13: nor one that panics while the breaker is made: it is told of a breaker that has a name.
func TestCooldownFuncMayPanicWhileTheBreakerIsMade(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	b := breaker(resilience.BreakerConfig{Cooldown: time.Minute, Bus: bus, CooldownFunc: func(int) time.Duration { panic("oh") }})
	told := heard[events.CallbackPanicked](tape)
	if len(told) != 1 || told[0].Source == nil || told[0].Source.Layer() != "db" || b.Snapshot().Cooldown != time.Minute {
		t.Errorf("told %+v, cooldown %v", told, b.Snapshot().Cooldown)
	}
}

// BRK-15: who subscribes changes nothing of what the caller gets.
func TestSubscribersChangeNoResult(t *testing.T) {
	for name, handle := range map[string]func(context.Context, events.Event){
		"none": nil, "panicking": func(context.Context, events.Event) { panic("oh") },
		"slow": func(context.Context, events.Event) { time.Sleep(time.Second) },
	} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			if handle != nil {
				bus.Subscribe(handle)
			}
			b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 2, Cooldown: time.Hour, Bus: bus})
			p := ints(bus, b)
			var got []string
			for range 3 {
				err := p.Run(t.Context(), fail)
				got = append(got, fmt.Sprint(resilience.KindOf(err), err == errBoom, b.State()))
			}
			if want := []string{"unhandled true closed", "unhandled true open", "unavailable false open"}; !slices.Equal(got, want) {
				t.Errorf("%s: %q", name, got)
			}
		})
	}
}

// BRK-15, BUS-06
func TestBufferedSubscriptionDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		release := make(chan struct{})
		bus.BreakerStateChanged.SubscribeBuffered(1, func(context.Context, events.BreakerStateChanged) { <-release })
		b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Bus: bus})
		began := time.Now()
		for range 10 {
			calls(t, b, "f")
			b.Reset()
		}
		if time.Since(began) != 0 || bus.Dropped() == 0 {
			t.Errorf("took %v, %d events dropped", time.Since(began), bus.Dropped())
		}
		close(release)
	})
}
