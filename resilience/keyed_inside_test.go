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

// counter is a gate of the user's that knows its permits.
type counter struct {
	next int64
	out  map[resilience.Permit]bool
}

func (*counter) LayerInfo() resilience.LayerInfo { return resilience.LayerInfo{} }
func (c *counter) Admit(context.Context, resilience.Call) (resilience.Permit, error) {
	c.next++
	p := resilience.Permit{Token: c.next}
	c.out[p] = true
	return p, nil
}
func (c *counter) Settle(_ context.Context, _ resilience.Call, p resilience.Permit, _ resilience.Outcome) {
	delete(c.out, p)
}

// A gate by key gets the very permit back that it gave. Where it has no type, the layer's is custom.
func TestAGateByKeyGetsItsPermitBack(t *testing.T) {
	bus, gate := events.NewBus(), &counter{out: map[resilience.Permit]bool{}}
	k := byKey(bus, func(string) (resilience.Gate, error) { return gate, nil }, nil)
	if err := k.RunKey(t.Context(), "a", succeed); err != nil || gate.next != 1 || len(gate.out) != 0 {
		t.Errorf("%v, %+v", err, gate)
	}
	if typ := bus.Sources()[0].Type(); typ != events.TypeCustom {
		t.Errorf("the type is %q", typ)
	}
	if s := k.String(); !strings.Contains(s, "(1 of 10000)") {
		t.Error(s)
	}
}

// A Keyed of Keyeds: a refusal tells the key of the outer one, and the innermost gate's own predicate decides.
func TestAKeyedInAKeyedRefusesAndJudgesAsTheGateInside(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	k := byKey(bus, func(string) (resilience.Gate, error) {
		return byKey(events.Off(), func(string) (resilience.Gate, error) {
			return resilience.NewBreaker(resilience.BreakerConfig{Name: "each", ConsecutiveFailures: 1, Cooldown: time.Hour, Bus: events.Off(),
				FailureIf: func(error) bool { return true }})
		}, nil), nil
	}, func(c *resilience.KeyedConfig) {
		c.Key = func(context.Context, resilience.Call) string { return "outer" }
	})
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus, Layers: []resilience.Layer{k},
		FailureIf: func(error) bool { return false }})
	_ = p.RunKey(t.Context(), "call", func(context.Context) error { return errBoom })
	err := p.RunKey(t.Context(), "call", succeed)
	if told := heard[events.CallRejected](tape); !errors.Is(err, resilience.ErrBreakerOpen) || len(told) != 1 || told[0].Key != "outer" {
		t.Errorf("%v, %+v", err, told)
	}
}

// What a Keyed tells by itself: of a lease the first attempt, of a nested call that it is nested, of New that it panicked.
func TestWhatAKeyedTellsByItself(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	k := byKey(bus, func(key string) (resilience.Gate, error) {
		if key == "panics" {
			panic(key)
		}
		return roomEach(key)
	}, atMost(1))
	if _, err := k.AcquireKey(t.Context(), "panics"); err == nil {
		t.Error("no error")
	}
	for _, key := range []string{"a", "b"} {
		if lease, err := k.AcquireKey(events.Nest(t.Context()), key); err != nil {
			t.Error(err)
		} else {
			lease.Release(nil)
		}
	}
	lease, _ := k.AcquireKey(t.Context(), "b")
	defer lease.Release(nil)
	_, err := k.AcquireKey(t.Context(), "b")
	told, evicted, panicked := heard[events.CallRejected](tape), heard[events.KeyEvicted](tape), heard[events.CallbackPanicked](tape)
	if !errors.Is(err, resilience.ErrLimited) || len(told) != 2 || told[1].Attempt != 1 {
		t.Errorf("%v, %+v", err, told)
	}
	if len(evicted) != 1 || !evicted[0].Nested || evicted[0].Key != "a" {
		t.Errorf("%+v", evicted)
	}
	if len(panicked) != 1 || panicked[0].Callback != "KeyedConfig.New" {
		t.Errorf("%+v", panicked)
	}
}

// A key is idle from the end of its last call on, however long that took.
func TestAKeyIsIdleFromTheEndOfItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := byKey(events.Off(), roomEach, func(c *resilience.KeyedConfig) { c.IdleAfter = time.Hour })
		lease, _ := k.AcquireKey(t.Context(), "slow")
		for i := range 8 { // each new key has the table look for idle ones
			time.Sleep(30 * time.Minute)
			_ = k.RunKey(t.Context(), fmt.Sprint(i), succeed)
		}
		lease.Release(nil)
		time.Sleep(30 * time.Minute)
		_ = k.RunKey(t.Context(), "new", succeed)
		if _, ok := k.Get("slow"); !ok {
			t.Errorf("forgotten half an hour after its end: %s", keysOf(k))
		}
	})
}

// The search for idle keys does not make a key that is used again one that makes room.
func TestAKeyThatIsUsedAgainIsSparedAfterASearchForIdleOnes(t *testing.T) {
	k := byKey(events.Off(), roomEach, atMost(3))
	for _, key := range []string{"a", "b", "b", "c", "d"} {
		_ = k.RunKey(t.Context(), key, succeed)
	}
	if got := keysOf(k); got != "a b d" {
		t.Error(got)
	}
}

// Of a crowd of keys that are all in use but one, not all are searched for it at once.
func TestTheSearchForRoomIsShort(t *testing.T) {
	const keys = 600
	k := byKey(events.Off(), roomEach, atMost(keys))
	for i := range keys {
		if lease, err := k.AcquireKey(t.Context(), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		} else if i == 0 {
			defer func() { lease.Release(nil) }()
			lease.Release(nil)
		}
	}
	searches, found := 0, false
	for ; !found && searches < 10; searches++ {
		_ = k.RunKey(t.Context(), "new", succeed)
		_, found = k.Get("new")
	}
	if !found || searches < 2 || searches > 4 {
		t.Errorf("found %t, after %d searches", found, searches)
	}
}

// Of the states of its breakers a Keyed tells the one that lets the fewest calls through.
func TestAKeyedTellsTheStrictestState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		k := byKey(bus, fragileEach, nil)
		state := func() events.State { r, _ := bus.Sources()[0].Breaker(); return r.State }
		do := func(key string) *resilience.Breaker {
			_ = k.RunKey(t.Context(), key, succeed)
			gate, _ := k.Get(key)
			return gate.(*resilience.Breaker)
		}
		_ = k.RunKey(t.Context(), "a", func(context.Context) error { return errBoom })
		got := []events.State{state()}
		time.Sleep(time.Minute)
		got = append(got, state())
		do("a")
		got = append(got, state())
		do("b").ForceOpen()
		got = append(got, state())
		want := []events.State{events.StateOpen, events.StateHalfOpen, events.StateClosed, events.StateForcedOpen}
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

func TestAKeyedIsNotBuiltWithoutAGateForTheEmptyKey(t *testing.T) {
	errNo := errors.New("no")
	var taken resilience.Gate
	byKey(events.Off(), func(key string) (resilience.Gate, error) {
		var err error
		taken, err = roomEach(key)
		return taken, err
	}, nil)
	for says, each := range map[string]func(string) (resilience.Gate, error){
		"no":           func(string) (resilience.Gate, error) { return nil, errNo },
		"New panicked": func(string) (resilience.Gate, error) { panic("no") },
		"MaxConcurrent": func(string) (resilience.Gate, error) {
			return resilience.NewBulkhead(resilience.BulkheadConfig{Name: "b", MaxConcurrent: -1})
		},
		"another key's": func(string) (resilience.Gate, error) { return taken, nil },
	} {
		bus := events.NewBus()
		k, err := resilience.NewKeyed(resilience.KeyedConfig{Name: "k", New: each, Bus: bus})
		if k != nil || err == nil || !strings.Contains(err.Error(), "KeyedConfig.New: of the empty key: ") || !strings.Contains(err.Error(), says) || len(bus.Sources()) != 0 {
			t.Errorf("got %v, %v; %d sources", k, err, len(bus.Sources()))
		}
	}
	err := buildLayer(&resilience.Keyed{})
	if err == nil || !strings.Contains(err.Error(), "was not made by NewKeyed") {
		t.Error(err)
	}
}
