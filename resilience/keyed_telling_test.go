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

// What a reading of several breakers does not add up is the greatest, or the latest, of them.
func TestTheReadingOfAKeyedShowsTheWorst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		k := byKey(bus, func(key string) (resilience.Gate, error) {
			cooldown := time.Minute
			if key == "a" {
				cooldown = time.Hour
			}
			return resilience.NewBreaker(resilience.BreakerConfig{Name: "each", FailureRatio: 0.5, MinCalls: 2, Cooldown: cooldown, Bus: events.Off()})
		}, nil)
		visit(t, k, "b")
		_ = k.RunKey(t.Context(), "a", fail)
		_ = k.RunKey(t.Context(), "a", fail) // opens
		opened := time.Now()
		time.Sleep(time.Second)
		_ = k.RunKey(t.Context(), "b", fail) // opens, later, and for less long
		r, _ := bus.Sources()[0].Breaker()
		if r.Failures != 3 || r.Calls != 4 || r.FailureRatio != 1 || r.Limit != 0.5 || r.Seq != 1 || r.Cooldown != time.Hour ||
			!r.Since.Equal(opened.Add(time.Second)) || !r.NextProbe.Equal(opened.Add(time.Hour)) {
			t.Errorf("%+v", r)
		}
	})
}

// BUS-09: who waits for a key's gate has its time counted as queued, and a Timeout inside begins after it.
func TestTheWaitForAGateOfAKeyedIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		told := record(bus)
		k := byKey(bus, func(string) (resilience.Gate, error) {
			return resilience.NewBulkhead(resilience.BulkheadConfig{Name: "each", MaxConcurrent: 1, MaxQueue: 1, Bus: events.Off()})
		}, nil)
		lease, err := k.AcquireKey(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Hour, func() {
			if r, _ := bus.Sources()[0].Limiter(); r.Queued != 1 {
				t.Errorf("%+v", r)
			}
			lease.Release(nil)
		})
		p := ints(bus, resilience.Timeout{Name: "total", After: 24 * time.Hour}, k, resilience.Timeout{After: time.Second})
		if err := p.RunKey(t.Context(), "a", func(ctx context.Context) error { return ctx.Err() }); err != nil {
			t.Error(err)
		}
		if f := heard[events.ExecutionFinished](told); len(f) != 1 || f[0].Queued != time.Hour {
			t.Errorf("told %+v", f)
		}
	})
}

// The gate of calls without a key tells no key, whatever the key of the call.
func TestTheSharedGateTellsNoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		told := record(bus)
		k := byKey(bus, fragileEach, atMost(1))
		p := ints(bus, k)
		late, err := k.AcquireKey(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		_ = p.RunKey(t.Context(), "no room", fail)
		_ = p.RunKey(t.Context(), "a", fail)
		late.Release(errBoom) // after the breaker has opened
		var got []string
		for _, e := range heard[events.BreakerStateChanged](told) {
			got = append(got, e.Key)
		}
		for _, e := range heard[events.LateResult](told) {
			got = append(got, "late "+e.Key)
		}
		if len(got) != 3 || got[0] != "" || got[1] != "a" || got[2] != "late a" {
			t.Errorf("told %q", got)
		}
		time.Sleep(time.Minute) // the cooldown of a: closed by a probe, it opens for as long again
		_ = p.RunKey(t.Context(), "a", succeed)
		_ = p.RunKey(t.Context(), "a", fail)
		all := heard[events.BreakerStateChanged](told)
		if last := all[len(all)-1]; last.To != events.StateOpen || last.Cooldown != time.Minute {
			t.Errorf("opened again for %v", last.Cooldown)
		}
	})
}

// A refusal, because no gate could be made, tells the key that Key gave.
func TestARefusalWithoutAGateTellsItsKey(t *testing.T) {
	bus := events.NewBus()
	told := record(bus)
	k := byKey(bus, func(key string) (resilience.Gate, error) {
		if key != "" {
			return nil, errBoom
		}
		return roomEach(key)
	}, func(c *resilience.KeyedConfig) {
		c.Key = func(context.Context, resilience.Call) string { return "tenant" }
	})
	_ = ints(bus, k).RunKey(t.Context(), "order", succeed)
	if e := heard[events.CallRejected](told); len(e) != 1 || e[0].Key != "tenant" {
		t.Errorf("told %+v", e)
	}
}

// What a Chaos delays is not what a Timeout inside it limits; the value is not made where there is none.
func TestATimeoutInsideAChaosBeginsAfterTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := ints(events.Off(), timeout(time.Hour), chaos(resilience.ChaosConfig{Latency: time.Minute}), timeout(time.Second))
		if err := p.Run(t.Context(), func(ctx context.Context) error { return ctx.Err() }); err != nil {
			t.Error(err)
		}
		made := 0
		valued := ints(events.Off(), chaos(resilience.ChaosConfig{Value: func() int { made++; return 1 }}))
		if err := valued.Run(t.Context(), fail); err != nil || made != 0 {
			t.Errorf("%v; %d values made", err, made)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := p.Run(ctx, succeed); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled in the delay: %v", err)
		}
	})
}
