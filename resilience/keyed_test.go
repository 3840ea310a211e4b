package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// fragileEach makes a breaker that one failure opens.
func fragileEach(string) (resilience.Gate, error) {
	return resilience.NewBreaker(resilience.BreakerConfig{Name: "each", ConsecutiveFailures: 1, Cooldown: time.Minute, Bus: events.Off()})
}

// roomEach makes a bulkhead for one call.
func roomEach(string) (resilience.Gate, error) {
	return resilience.NewBulkhead(resilience.BulkheadConfig{Name: "each", MaxConcurrent: 1, Bus: events.Off()})
}

func byKey(bus *events.Bus, each func(string) (resilience.Gate, error), change func(*resilience.KeyedConfig)) *resilience.Keyed {
	cfg := resilience.KeyedConfig{Name: "by_key", New: each, Bus: bus}
	if change != nil {
		change(&cfg)
	}
	return resilience.MustKeyed(cfg)
}

func atMost(keys int) func(*resilience.KeyedConfig) {
	return func(c *resilience.KeyedConfig) { c.MaxKeys = keys }
}

// keysOf lists the keys there are, sorted, the empty one left out.
func keysOf(k *resilience.Keyed) string {
	var all []string
	for key := range k.All {
		if key != "" {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestAKeyedHasAGateForEachKey(t *testing.T) {
	k := byKey(events.NewBus(), fragileEach, nil)
	p := ints(events.NewBus(), k)
	if err := p.RunKey(t.Context(), "bad", fail); !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	for key, open := range map[string]bool{"bad": true, "good": false, "": false} {
		if err := p.RunKey(t.Context(), key, succeed); errors.Is(err, resilience.ErrBreakerOpen) != open {
			t.Errorf("%q: %v, want open: %v", key, err, open)
		}
	}
	if k.Len() != 2 || keysOf(k) != "bad good" {
		t.Errorf("%d keys: %s", k.Len(), keysOf(k))
	}
}

func TestCallsWithoutAKeyShareOneGate(t *testing.T) {
	p := ints(events.NewBus(), byKey(events.NewBus(), fragileEach, nil))
	_ = p.Run(t.Context(), fail)
	if err := p.Run(t.Context(), succeed); !errors.Is(err, resilience.ErrBreakerOpen) {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestAKeyedTakesTheKeyFromItsFunction(t *testing.T) {
	type tenant struct{}
	var seen []string
	bus := events.NewBus()
	told := record(bus)
	k := byKey(bus, fragileEach, func(c *resilience.KeyedConfig) {
		c.Key = func(ctx context.Context, call resilience.Call) string {
			seen = append(seen, call.Key())
			name, _ := ctx.Value(tenant{}).(string)
			return name
		}
	})
	p := ints(bus, k)
	acme := context.WithValue(t.Context(), tenant{}, "acme")
	_ = p.RunKey(acme, "order:7", fail)
	if err := p.RunKey(acme, "order:8", succeed); !errors.Is(err, resilience.ErrBreakerOpen) {
		t.Errorf("acme: %v", err)
	}
	if err := p.RunKey(t.Context(), "order:9", succeed); err != nil {
		t.Errorf("no tenant: %v", err)
	}
	if !slices.Equal(seen, []string{"order:7", "order:8", "order:9"}) {
		t.Errorf("Key saw %v", seen)
	}
	if e := heard[events.CallRejected](told); len(e) != 1 || e[0].Key != "acme" {
		t.Errorf("refusals %+v, want one of acme", e)
	}
	if e := heard[events.BreakerStateChanged](told); len(e) != 1 || e[0].Key != "acme" {
		t.Errorf("transitions %+v, want one of acme", e)
	}
	if e := heard[events.ExecutionFinished](told); e[0].Key != "order:7" {
		t.Errorf("the execution's key is %q", e[0].Key)
	}
}

// A gate of this package becomes the Keyed's, whatever its own name and bus are: one source, the key in the events.
func TestGatesOfAKeyedAreOneSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, other := events.NewBus(), events.NewBus()
		told := record(bus)
		k := byKey(bus, func(key string) (resilience.Gate, error) {
			return resilience.NewBreaker(resilience.BreakerConfig{Name: "own-" + key, ConsecutiveFailures: 1, Bus: other})
		}, nil)
		p := ints(bus, k)
		for i := range 200 {
			_ = p.RunKey(t.Context(), fmt.Sprint(i), succeed)
		}
		_ = p.RunKey(t.Context(), "7", fail)
		gate, _ := k.Get("8")
		gate.(*resilience.Breaker).ForceOpen()
		err := p.RunKey(t.Context(), "7", succeed)
		if err == nil || !strings.Contains(err.Error(), "by_key is open") {
			t.Errorf("the refusal names another layer: %v", err)
		}
		if n := len(bus.Sources()); n != 2 || len(other.Sources()) != 0 {
			t.Errorf("%d sources on the bus and %d on the gates' own, want the pipeline and the Keyed", n, len(other.Sources()))
		}
		var got []string
		for _, e := range heard[events.BreakerStateChanged](told) {
			got = append(got, fmt.Sprint(e.Source.Layer(), " ", e.Key, " ", e.To, " ", e.Seq))
		}
		if want := []string{"by_key 7 open 1", "by_key 8 forced_open 1"}; !slices.Equal(got, want) {
			t.Errorf("transitions %q, want %q", got, want)
		}
		source := bus.Sources()[0]
		r, ok := source.Breaker()
		if want := (events.BreakerReading{}.In); !ok || r.In == want || r.In[events.StateClosed] != 199 || r.In[events.StateOpen] != 1 || r.In[events.StateForcedOpen] != 1 {
			t.Errorf("the reading has %v", r.In)
		}
		if r.State != events.StateForcedOpen || source.Type() != events.TypeBreaker {
			t.Errorf("it is %v of type %s", r.State, source.Type())
		}
	})
}

// The time in each state is a counter: it does not fall when keys are forgotten.
func TestTheTimeInEachStateOfForgottenKeysStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		k := byKey(bus, fragileEach, atMost(2))
		for i := range 10 {
			_ = k.RunKey(t.Context(), fmt.Sprint(i), fail)
			time.Sleep(2 * time.Minute)
			_ = k.RunKey(t.Context(), fmt.Sprint(i), succeed)
		}
		r, _ := bus.Sources()[0].Breaker()
		if got := r.Spent[events.StateOpen]; got != 10*time.Minute || k.Len() != 2 { // the cooldown of each
			t.Errorf("%v open over all keys, want 10m; %d keys are left", got, k.Len())
		}
	})
}

func TestTheLimitsOfAKeyedAddUp(t *testing.T) {
	bus := events.NewBus()
	k := byKey(bus, roomEach, nil)
	_ = k.RunKey(t.Context(), "a", func(ctx context.Context) error {
		return k.RunKey(ctx, "b", func(ctx context.Context) error {
			r, ok := bus.Sources()[0].Limiter()
			if want := (events.LimiterReading{Limit: 3, Usage: 2}); !ok || r != want { // a, b, and the empty key
				t.Errorf("got %+v, want %+v", r, want)
			}
			return nil
		})
	})
}

func TestDescribeShowsTheGatesOfAKeyed(t *testing.T) {
	k := byKey(events.Off(), roomEach, func(c *resilience.KeyedConfig) { c.IdleAfter = -1 })
	l := ints(events.Off(), k).Describe().Layers[0]
	var settings []string
	for _, s := range l.Settings {
		settings = append(settings, s.Name+"="+s.Value)
	}
	if got := strings.Join(settings, " "); got != "max_concurrent=1 max_queue=0 max_keys=10000 idle_after=never" ||
		l.Name != "by_key" || l.Shared != "by_key" || l.Type != events.TypeBulkhead {
		t.Errorf("%+v", l)
	}
	if k.Name() != "by_key" || k.String() != "by_key by key (0 of 10000)" {
		t.Errorf("%s, %s", k.Name(), k)
	}
}

// PIPE-12: a gate that cannot be made refuses the call, and nothing of it is kept.
func TestAGateThatCannotBeMadeRefusesTheCall(t *testing.T) {
	errUnknown := errors.New("unknown tenant")
	shared, _ := roomEach("")
	for says, each := range map[string]func(string) (resilience.Gate, error){
		"unknown tenant":       func(string) (resilience.Gate, error) { return nil, errUnknown },
		"New panicked":         func(string) (resilience.Gate, error) { panic("no") },
		"New returned nil":     func(string) (resilience.Gate, error) { return nil, nil },
		"New's gate is a":      func(string) (resilience.Gate, error) { return &resilience.Bulkhead{}, nil },
		"New returned nil\x00": func(string) (resilience.Gate, error) { return (*resilience.Breaker)(nil), nil },
		"New panicked\x00":     func(string) (resilience.Gate, error) { return struct{ *resilience.Breaker }{}, nil },
		"BulkheadConfig.MaxConcurrent": func(string) (resilience.Gate, error) {
			return resilience.NewBulkhead(resilience.BulkheadConfig{Name: "b", MaxConcurrent: -1})
		},
		"returned a gate that is another ": func(string) (resilience.Gate, error) { return shared, nil },
	} {
		says = strings.TrimRight(says, "\x00")
		bus := events.NewBus()
		told := record(bus)
		k := byKey(bus, func(key string) (resilience.Gate, error) {
			if key == "" {
				return roomEach(key)
			}
			return each(key)
		}, nil)
		if says == "returned a gate that is another " {
			_, _ = resilience.NewKeyed(resilience.KeyedConfig{Name: "first", New: each, Bus: events.Off()})
		}
		p := ints(bus, k)
		for range 2 {
			err := p.RunKey(t.Context(), "key", succeed)
			var limited *resilience.LimitedError
			if !errors.As(err, &limited) || limited.Layer != "by_key" || limited.Reason != events.ReasonShed || !strings.Contains(err.Error(), "no gate for the key") ||
				!strings.Contains(err.Error(), says) {
				t.Errorf("got %v, want %q in it", err, says)
			}
			if says == "unknown tenant" && !errors.Is(err, errUnknown) {
				t.Errorf("%v is not what New returned", err)
			}
		}
		if k.Len() != 0 {
			t.Errorf("%s: kept %s", says, keysOf(k))
		}
		if e := heard[events.CallRejected](told); len(e) != 2 || e[0].Key != "key" {
			t.Errorf("%s: refusals %+v", says, e)
		}
		if n := len(heard[events.CallbackPanicked](told)); (n == 2) != (says == "New panicked") {
			t.Errorf("%s: %d panics told", says, n)
		}
	}
}

// PIPE-13: a function of the user's that panics or ends the goroutine leaves nothing behind.
func TestAFunctionOfAKeyedThatDoesNotReturnLeavesNothingBehind(t *testing.T) {
	bus := events.NewBus()
	told := record(bus)
	goexit := true
	k := byKey(bus, func(key string) (resilience.Gate, error) {
		if key == "exits" && goexit {
			runtime.Goexit()
		}
		return roomEach(key)
	}, func(c *resilience.KeyedConfig) {
		c.Key = func(_ context.Context, call resilience.Call) string {
			if call.Key() == "panics" {
				panic("no key")
			}
			return call.Key()
		}
	})
	p := ints(bus, k)
	apart(func() { _ = p.RunKey(t.Context(), "exits", succeed) })
	goexit = false
	for _, key := range []string{"exits", "panics", ""} {
		if err := p.RunKey(t.Context(), key, succeed); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if e := heard[events.CallbackPanicked](told); len(e) != 1 || e[0].Callback != "KeyedConfig.Key" || keysOf(k) != "exits" {
		t.Errorf("panics %+v; keys %s", e, keysOf(k))
	}
}
