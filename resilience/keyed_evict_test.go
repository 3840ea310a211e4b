package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// visit makes one call that succeeds for each key.
func visit(t *testing.T, k *resilience.Keyed, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if err := k.RunKey(t.Context(), key, succeed); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func keys(t *testing.T, k *resilience.Keyed, want string) {
	t.Helper()
	if got := keysOf(k); got != want {
		t.Errorf("keys %q, want %q", got, want)
	}
}

func TestAnIdleKeyIsForgottenWhenOthersCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		told := record(bus)
		k := byKey(bus, fragileEach, nil)
		visit(t, k, "a", "b")
		time.Sleep(10*time.Minute - 1)
		visit(t, k, "b", "c")
		keys(t, k, "a b c")
		time.Sleep(time.Nanosecond)
		visit(t, k, "d")
		keys(t, k, "b c d")
		time.Sleep(10 * time.Minute)
		visit(t, k, "c", "e")
		keys(t, k, "c e")
		var got []string
		for _, e := range heard[events.KeyEvicted](told) {
			got = append(got, fmt.Sprint(e.Source.Layer(), " ", e.Key, " ", e.Keys))
		}
		if want := []string{"by_key a 3", "by_key d 3", "by_key b 2"}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

func TestKeysAreNotForgottenByTimeWhereThatIsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := byKey(events.Off(), fragileEach, func(c *resilience.KeyedConfig) { c.IdleAfter = -1 })
		for i := range 10 {
			visit(t, k, fmt.Sprint(i))
			time.Sleep(time.Hour)
		}
		keys(t, k, "0 1 2 3 4 5 6 7 8 9")
	})
}

func TestTheKeyNotUsedOfLateMakesRoom(t *testing.T) {
	k := byKey(events.Off(), fragileEach, atMost(3))
	for i := range 50 {
		visit(t, k, "a", "b", fmt.Sprint("new", i))
		keys(t, k, fmt.Sprint("a b new", i))
	}
}

// A key with a call under way, or one that waits, is in use.
func TestAKeyInUseIsNeverForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := byKey(events.Off(), func(string) (resilience.Gate, error) {
			return resilience.NewBulkhead(resilience.BulkheadConfig{Name: "b", MaxConcurrent: 1, MaxQueue: 1, Bus: events.Off()})
		}, func(c *resilience.KeyedConfig) { c.MaxKeys, c.IdleAfter = 2, time.Minute })
		lease, err := k.AcquireKey(t.Context(), "busy")
		if err != nil {
			t.Fatal(err)
		}
		used, _ := k.Get("busy")
		waited := make(chan error, 1)
		go func() {
			waited <- k.RunKey(t.Context(), "busy", func(context.Context) error { time.Sleep(time.Hour); return nil })
		}()
		synctest.Wait()
		lease.Release(nil) // now the one who waited is under way
		for i := range 20 {
			time.Sleep(2 * time.Minute)
			visit(t, k, fmt.Sprint(i))
			if still, _ := k.Get("busy"); still != used {
				t.Fatalf("forgotten after %d keys", i+1)
			}
		}
		if err := <-waited; err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		visit(t, k, "x", "y", "z", "busy")
		if last, _ := k.Get("busy"); last == used {
			t.Error("still there, although others needed the room")
		}
	})
}

// A breaker that is open, or was opened by hand, and a rate limiter whose burst is not full, would be another one after.
func TestWhatMustBeRememberedIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pressed := byKey(events.Off(), fragileEach, func(c *resilience.KeyedConfig) { c.MaxKeys, c.IdleAfter = 2, -1 })
		_ = pressed.RunKey(t.Context(), "down", fail)
		visit(t, pressed, "a", "b", "c", "d")
		keys(t, pressed, "d down")

		breakers := byKey(events.Off(), fragileEach, atMost(2))
		_ = breakers.RunKey(t.Context(), "down", fail)
		for i := range 10 {
			visit(t, breakers, fmt.Sprint(i))
		}
		if err := breakers.RunKey(t.Context(), "down", succeed); !errors.Is(err, resilience.ErrBreakerOpen) {
			t.Errorf("the open breaker is forgotten: %v", err)
		}
		time.Sleep(time.Minute) // the cooldown has passed
		visit(t, breakers, "a", "b")
		time.Sleep(10 * time.Minute)
		visit(t, breakers, "c", "d")
		if _, there := breakers.Get("down"); there {
			t.Error("a breaker that lets calls through again is not forgotten")
		}
		gate, _ := breakers.Get("d")
		gate.(*resilience.Breaker).ForceOpen()
		time.Sleep(24 * time.Hour)
		visit(t, breakers, "e", "f")
		time.Sleep(24 * time.Hour)
		visit(t, breakers, "g", "h")
		if still, _ := breakers.Get("d"); still != gate {
			t.Error("a breaker that is held open is forgotten")
		}

		rates := byKey(events.Off(), func(string) (resilience.Gate, error) {
			return resilience.NewRateLimiter(resilience.RateLimiterConfig{Name: "r", Rate: 1, Per: 24 * time.Hour, Bus: events.Off()})
		}, nil)
		visit(t, rates, "spent")
		for i := range 20 {
			time.Sleep(time.Hour)
			visit(t, rates, fmt.Sprint(i))
		}
		if err := rates.RunKey(t.Context(), "spent", succeed); !errors.Is(err, resilience.ErrLimited) {
			t.Errorf("a day's allowance was had twice: %v", err)
		}
	})
}

// When all keys are in use, new ones share the gate of calls without a key, and that is told once.
func TestKeysWithoutRoomShareAGate(t *testing.T) {
	bus := events.NewBus()
	told := record(bus)
	made := 0
	k := byKey(bus, func(key string) (resilience.Gate, error) { made++; return roomEach(key) }, atMost(2))
	p := ints(bus, k)
	var leases []*resilience.Lease
	for _, key := range []string{"a", "b", "c"} {
		l, err := k.AcquireKey(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, l)
	}
	for _, key := range []string{"d", "e", ""} {
		if err := p.RunKey(t.Context(), key, succeed); !errors.Is(err, resilience.ErrLimited) {
			t.Errorf("%q: %v; the shared gate is in use", key, err)
		}
	}
	keys(t, k, "a b")
	if made != 3 {
		t.Errorf("%d gates were made, want 2 and that of the empty key", made)
	}
	if w := heard[events.ConfigWarning](told); len(w) != 1 || w[0].Code != events.WarningKeyedFull || w[0].Source.Layer() != "by_key" {
		t.Errorf("warnings %+v", w)
	}
	var refused []string
	for _, e := range heard[events.CallRejected](told) {
		refused = append(refused, e.Key)
	}
	if !slices.Equal(refused, []string{"d", "e", ""}) {
		t.Errorf("refused %q", refused)
	}
	leases[0].Release(nil)
	visit(t, k, "f")
	keys(t, k, "b f")
	leases[2].Release(nil)
	visit(t, k, "")
}

// A call settles the gate that admitted it, also when its key has another by now.
func TestACallSettlesTheGateThatAdmittedIt(t *testing.T) {
	var gates []*counting
	k := byKey(events.Off(), func(key string) (resilience.Gate, error) {
		g := &counting{name: key}
		gates = append(gates, g)
		return g, nil
	}, atMost(1))
	stale, err := k.AcquireKey(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	stale.Release(errBoom)
	visit(t, k, "b", "a")
	if len(gates) != 4 {
		t.Fatalf("%d gates, want those of the empty key, a, b, and a again", len(gates))
	}
	stale.Release(nil)
	k.Settle(t.Context(), resilience.Call{}, resilience.Permit{Token: 1}, resilience.Outcome{Kind: resilience.Succeeded}) // nobody's
	for i, want := range []int{0, 1, 1, 1} {
		if g := gates[i]; g.outstanding != 0 || len(g.outcomes) != want {
			t.Errorf("gate %d of %q: %d outstanding, outcomes %v", i, g.name, g.outstanding, g.outcomes)
		}
	}
	if gates[1].outcomes[0].Kind != resilience.Failed {
		t.Errorf("%v", gates[1].outcomes[0])
	}
}

// PIPE-13: a handler that ends the goroutine leaves no use behind.
func TestAHandlerOfAnEvictionMayEndTheGoroutine(t *testing.T) {
	for name, end := range map[string]func(){"panics": func() { panic("no") }, "exits": runtime.Goexit} {
		bus := events.NewBus()
		cancel := bus.KeyEvicted.Subscribe(func(context.Context, events.KeyEvicted) { end() })
		k := byKey(bus, roomEach, atMost(1))
		for range 10 {
			apart(func() { _ = k.RunKey(t.Context(), "a", succeed) })
			apart(func() { _ = k.RunKey(t.Context(), "b", succeed) })
		}
		cancel()
		visit(t, k, "c")
		if keysOf(k) != "c" {
			t.Errorf("%s: keys %s: one is in use for ever", name, keysOf(k))
		}
	}
}

// A Keyed in a Keyed, and in a gate around it, each settle with the permit that they gave.
func TestAKeyedWithinAKeyed(t *testing.T) {
	var inner []*resilience.Keyed
	k := byKey(events.Off(), func(string) (resilience.Gate, error) {
		i := byKey(events.Off(), roomEach, func(c *resilience.KeyedConfig) {
			c.Key = func(ctx context.Context, _ resilience.Call) string { return ctx.Value(hostKey{}).(string) }
		})
		inner = append(inner, i)
		return struct{ *resilience.Keyed }{i}, nil
	}, atMost(1))
	x := context.WithValue(t.Context(), hostKey{}, "x")
	for range 3 {
		if err := k.RunKey(x, "a", func(ctx context.Context) error {
			if err := k.RunKey(ctx, "a", succeed); !errors.Is(err, resilience.ErrLimited) {
				t.Errorf("x has no room, got %v", err)
			}
			return k.RunKey(context.WithValue(ctx, hostKey{}, "y"), "a", succeed)
		}); err != nil {
			t.Error(err)
		}
	}
	if err := k.RunKey(x, "b", succeed); err != nil || keysOf(k) != "b" || len(inner) != 3 {
		t.Errorf("%v, keys %s, %d made", err, keysOf(k), len(inner))
	}
}

type hostKey struct{}
