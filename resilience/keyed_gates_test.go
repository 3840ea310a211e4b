package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// LIM-08: an adaptive limiter for each key finds each key's limit, and is told of as the Keyed's.
func TestAKeyedOfAdaptiveLimiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		told := record(bus)
		k := byKey(bus, func(string) (resilience.Gate, error) {
			return resilience.NewAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "each", Initial: 4, Max: 40, Bus: bus})
		}, nil)
		if _, err := k.AcquireKey(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		r, ok := bus.Sources()[0].Limiter()
		if want := (events.LimiterReading{Limit: 8, Usage: 1}); !ok || r != want || len(bus.Sources()) != 1 || bus.Sources()[0].Type() != events.TypeAdaptiveLimiter {
			t.Errorf("%+v, want %+v; sources %v", r, want, bus.Sources())
		}
		for range 3 {
			_, _ = k.AcquireKey(t.Context(), "a")
		}
		err := k.RunKey(t.Context(), "a", succeed)
		var limited *resilience.LimitedError
		if !errors.As(err, &limited) || limited.Layer != "by_key" {
			t.Errorf("the fifth call: %v", err)
		}
		for range 300 { // a round's worth of calls that time out
			_ = k.RunKey(t.Context(), "b", func(context.Context) error { time.Sleep(10 * time.Millisecond); return context.DeadlineExceeded })
		}
		changed := heard[events.LimitChanged](told)
		if len(changed) == 0 {
			t.Fatal("no change of a limit is told")
		}
		for _, e := range changed {
			if e.Key != "b" || e.Source != bus.Sources()[0] {
				t.Errorf("a change is told as of %q, %v", e.Key, e.Source)
			}
		}
		if gate, _ := k.Get("a"); gate.(*resilience.AdaptiveLimiter).Snapshot().Limit != 4 {
			t.Error("one key's failures changed another's limit")
		}
	})
}

// BRK-04, BRK-12: what a key's breaker does in shadow mode, or because of slow calls, is told with the key, and all of it
// is in the reading.
func TestAKeyedOfBreakersInShadowThatCountSlowCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		told := record(bus)
		shadow := true
		k := byKey(bus, func(string) (resilience.Gate, error) {
			return resilience.NewBreaker(resilience.BreakerConfig{Name: "each", FailureRatio: 0.9, SlowCall: time.Second, SlowRatio: 0.5,
				MinCalls: 4, Shadow: shadow, Bus: events.Off()})
		}, nil)
		source := bus.Sources()[0]
		slow := func(context.Context) error { time.Sleep(2 * time.Second); return nil }
		for range 3 {
			_ = k.RunKey(t.Context(), "a", slow)
		}
		_ = k.RunKey(t.Context(), "b", succeed)
		if r, _ := source.Breaker(); r.SlowCalls != 3 || r.Calls != 4 || r.SlowRatio != 1 || r.SlowLimit != 0.5 || !r.Shadow || r.State != events.StateClosed {
			t.Errorf("%+v", r)
		}
		_ = k.RunKey(t.Context(), "a", slow)
		if err := k.RunKey(t.Context(), "a", succeed); err != nil {
			t.Errorf("a breaker in shadow mode refused: %v", err)
		}
		if e := heard[events.ShadowRejected](told); len(e) != 1 || e[0].Key != "a" || e[0].Source != source {
			t.Errorf("told %+v", e)
		}
		if e := heard[events.BreakerStateChanged](told); len(e) != 1 || e[0].Key != "a" || e[0].Reason != events.ReasonSlow || !e[0].Shadow {
			t.Errorf("told %+v", e)
		}
		shadow = false
		_ = k.RunKey(t.Context(), "real", succeed)
		if r, _ := source.Breaker(); r.Shadow || r.State != events.StateOpen || r.In[events.StateOpen] != 1 || r.In[events.StateClosed] != 3 {
			t.Errorf("%+v", r)
		}
	})
}

// BRK-11: a breaker that is disabled by hand stays so, and shows.
func TestADisabledBreakerOfAKeyedIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		k := byKey(bus, fragileEach, atMost(2))
		visit(t, k, "off")
		gate, _ := k.Get("off")
		gate.(*resilience.Breaker).Disable()
		for i := range 10 {
			time.Sleep(time.Hour)
			visit(t, k, fmt.Sprint(i))
		}
		keys(t, k, "9 off")
		r, _ := bus.Sources()[0].Breaker()
		if r.In[events.StateDisabled] != 1 || r.In[events.StateClosed] != 2 || r.State != events.StateClosed || r.Spent[events.StateDisabled] != 10*time.Hour {
			t.Errorf("%+v", r)
		}
		for _, gate := range k.All {
			gate.(*resilience.Breaker).Disable()
		}
		if r, _ := bus.Sources()[0].Breaker(); r.State != events.StateDisabled {
			t.Errorf("all are disabled, and it is %v", r.State)
		}
	})
}

// LIM-07: what was set by hand for a key is told with the key, and not forgotten.
func TestALimitSetByHandIsRemembered(t *testing.T) {
	for _, c := range []struct {
		what     string
		each     func(string) (resilience.Gate, error)
		set      func(resilience.Gate) error
		restored func(resilience.Gate) error
	}{
		{"a bulkhead", roomEach,
			func(g resilience.Gate) error { return g.(*resilience.Bulkhead).SetMaxConcurrent(7) },
			func(g resilience.Gate) error { return g.(*resilience.Bulkhead).SetMaxConcurrent(1) }},
		{"a rate", rateEach,
			func(g resilience.Gate) error { return g.(*resilience.RateLimiter).SetRate(7, time.Second, 5) },
			func(g resilience.Gate) error { return g.(*resilience.RateLimiter).SetRate(5, time.Second, 5) }},
		{"a span", rateEach,
			func(g resilience.Gate) error { return g.(*resilience.RateLimiter).SetRate(5, time.Minute, 5) },
			func(g resilience.Gate) error { return g.(*resilience.RateLimiter).SetRate(5, time.Second, 5) }},
		{"a burst", rateEach,
			func(g resilience.Gate) error { return g.(*resilience.RateLimiter).SetRate(5, time.Second, 6) },
			func(g resilience.Gate) error { return g.(*resilience.RateLimiter).SetRate(5, time.Second, 5) }},
	} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			told := record(bus)
			k := byKey(bus, c.each, atMost(2))
			pass := func() {
				for i := range 10 {
					time.Sleep(time.Hour)
					visit(t, k, fmt.Sprint(i))
				}
			}
			visit(t, k, "set")
			gate, _ := k.Get("set")
			if err := c.set(gate); err != nil {
				t.Fatal(err)
			}
			pass()
			if still, _ := k.Get("set"); still != gate {
				t.Errorf("%s: forgotten", c.what)
			}
			if e := heard[events.LimitChanged](told); len(e) != 1 || e[0].Key != "set" || e[0].Source.Layer() != "by_key" {
				t.Errorf("%s: told %+v", c.what, e)
			}
			if err := c.restored(gate); err != nil {
				t.Fatal(err)
			}
			pass()
			if _, there := k.Get("set"); there {
				t.Errorf("%s: kept, although it is as New made it", c.what)
			}
		})
	}
}

func rateEach(string) (resilience.Gate, error) {
	return resilience.NewRateLimiter(resilience.RateLimiterConfig{Name: "each", Rate: 5, Bus: events.Off()})
}

// A breaker that New opens, disables or gives functions is the Keyed's all the same.
func TestNewMayOpenABreaker(t *testing.T) {
	bus := events.NewBus()
	told := record(bus)
	k := byKey(bus, func(key string) (resilience.Gate, error) {
		b := resilience.MustBreaker(resilience.BreakerConfig{Name: "own", ConsecutiveFailures: 1, Bus: events.Off(),
			FailureIf: func(err error) bool { panic(err) }, CooldownFunc: func(int) time.Duration { return time.Hour }})
		if key == "banned" {
			b.ForceOpen()
		}
		return b, nil
	}, nil)
	err := k.RunKey(t.Context(), "banned", succeed)
	if !errors.Is(err, resilience.ErrBreakerOpen) || !strings.Contains(err.Error(), "by_key is forced open") && !strings.Contains(err.Error(), "by_key") {
		t.Errorf("got %v", err)
	}
	_ = k.RunKey(t.Context(), "a", fail)
	var got []string
	for _, e := range heard[events.CallbackPanicked](told) {
		got = append(got, e.Key+" "+e.Callback)
	}
	for _, e := range heard[events.BreakerStateChanged](told) {
		got = append(got, fmt.Sprint(e.Key, " ", e.To, " ", e.Cooldown))
	}
	if want := []string{"a BreakerConfig.FailureIf", "a open 1h0m0s"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if e := heard[events.CallRejected](told); len(e) != 1 || e[0].Key != "banned" {
		t.Errorf("told %+v", e)
	}
}

// LIM-08: the time that New takes is not taken for the first call's latency.
func TestTheTimeThatNewTakesIsNotTheCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var admitted time.Duration
		began := time.Now()
		k := byKey(events.Off(), func(key string) (resilience.Gate, error) {
			if key != "" {
				time.Sleep(time.Hour)
			}
			return resilience.NewRateLimiter(resilience.RateLimiterConfig{Name: "each", Rate: 1, Per: 2 * time.Hour, Bus: events.Off()})
		}, nil)
		p := ints(events.Off(), resilience.Timeout{After: 24 * time.Hour}, k)
		if err := p.RunKey(t.Context(), "a", func(context.Context) error { admitted = time.Since(began); return nil }); err != nil {
			t.Fatal(err)
		}
		if r, _ := k.Get("a"); admitted != time.Hour || r.(*resilience.RateLimiter).Snapshot().Usage != 1 {
			t.Errorf("admitted after %v, %+v", admitted, r)
		}
		time.Sleep(2*time.Hour - 1)
		if err := p.RunKey(t.Context(), "a", succeed); !errors.Is(err, resilience.ErrLimited) {
			t.Error("the allowance came back a nanosecond too early")
		}
	})
}
