package resilience_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-27: what a key's gate limits or judges is over when its own kind of gate says so.
func TestTheGatesOfAKeyedSettleWhenTheirKindDoes(t *testing.T) {
	room := byKey(events.Off(), roomEach, nil)
	judged := byKey(events.Off(), fragileEach, nil)
	p := streams(func(c *resilience.PipelineConfig[*stream]) { c.JudgeOnReturn = true }, room, judged)
	s, err := p.DoKey(t.Context(), "a", openBadStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := room.RunKey(t.Context(), "a", succeed); !errors.Is(err, resilience.ErrLimited) {
		t.Errorf("the bulkhead let go before the release: %v", err)
	}
	gate, _ := judged.Get("a")
	if state := gate.(*resilience.Breaker).State(); state != events.StateOpen {
		t.Errorf("the breaker is %v, and learns on return", state)
	}
	s.release(nil)
	if err := room.RunKey(t.Context(), "a", succeed); err != nil {
		t.Errorf("after the release: %v", err)
	}
}

// BRK-17, BRK-19: FailureIf decides for breakers without one of their own.
func TestFailureIfDecidesForTheBreakersOfAKeyed(t *testing.T) {
	each := func(failureIf func(error) bool) func(string) (resilience.Gate, error) {
		return func(string) (resilience.Gate, error) {
			return resilience.NewBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, FailureIf: failureIf, Bus: events.Off()})
		}
	}
	for _, c := range []struct {
		what        string
		each        func(string) (resilience.Gate, error)
		asked, open bool
	}{
		{"a breaker", each(nil), true, false},
		{"a breaker with its own", each(func(error) bool { return true }), false, true},
		{"a bulkhead", roomEach, false, false},
		{"a gate of the user's", func(string) (resilience.Gate, error) { return &counting{}, nil }, true, false},
	} {
		asked := false
		k := byKey(events.Off(), c.each, nil)
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.Off(), Layers: []resilience.Layer{k},
			FailureIf: func(error) bool { asked = true; return false }})
		for _, key := range []string{"", "a"} {
			asked = false
			_ = p.RunKey(t.Context(), key, fail)
			err := p.RunKey(t.Context(), key, succeed)
			if asked != c.asked || errors.Is(err, resilience.ErrBreakerOpen) != c.open {
				t.Errorf("%s, key %q: FailureIf was asked: %v, want %v; then %v", c.what, key, asked, c.asked, err)
			}
		}
	}
}

// A Keyed stands where its gates would.
func TestAKeyedWithinTheCanonicalStack(t *testing.T) {
	bus := events.NewBus()
	told := record(bus)
	p := ints(bus, byKey(bus, roomEach, nil), resilience.Timeout{}, resilience.Retry{Backoff: resilience.NoDelay}, byKey(bus, fragileEach, func(c *resilience.KeyedConfig) { c.Name = "breakers" }))
	err := p.RunKey(t.Context(), "a", func(context.Context) error { return errBoom })
	if !errors.Is(err, errBoom) || !errors.Is(err, resilience.ErrBreakerOpen) {
		t.Errorf("got %v, want the failure and the refusal after it", err)
	}
	f := heard[events.ExecutionFinished](told)
	if len(f) != 1 || f[0].Reason != events.ReasonOpen || f[0].Layer.Layer() != "breakers" || f[0].Attempts != 1 {
		t.Errorf("told %+v", f)
	}
}

// PIPE-10: the rules see the gates of a Keyed, and what is inside and outside of a Chaos.
func TestTheRulesForWarningsSeeThroughKeyedAndChaos(t *testing.T) {
	bus := events.NewBus()
	codes := func(layers ...resilience.Layer) (all []string) {
		for _, w := range ints(events.NewBus(), layers...).Warnings() {
			all = append(all, w.Code)
		}
		return all
	}
	slow := chaos(resilience.ChaosConfig{Latency: time.Second, MaxLatency: 1001 * time.Millisecond})
	for _, c := range []struct {
		want   string
		layers []resilience.Layer
	}{
		{events.WarningOtherBus, []resilience.Layer{byKey(bus, roomEach, nil)}},
		{events.WarningHangUnnoticed, []resilience.Layer{byKey(bus, fragileEach, nil)}},
		{events.WarningBulkheadInRetry, []resilience.Layer{resilience.Retry{}, byKey(bus, roomEach, nil)}},
		{events.WarningShortDuration, []resilience.Layer{byKey(bus, roomEach, func(c *resilience.KeyedConfig) { c.IdleAfter = 600 })}},
		{events.WarningTimeoutTwice, []resilience.Layer{timeout(2 * time.Second), slow, timeout(time.Second)}},
		{events.WarningShortDuration, []resilience.Layer{chaos(resilience.ChaosConfig{Latency: 500})}},
	} {
		if got := codes(c.layers...); !slices.Contains(got, c.want) {
			t.Errorf("got %v, want %s", got, c.want)
		}
	}
	if got := codes(slow); len(got) != 0 {
		t.Errorf("a chaos alone has %v", got)
	}
}

// A key is in use until its gate has been told how the call ended.
func TestAKeyIsInUseUntilItsGateHasSettled(t *testing.T) {
	var k *resilience.Keyed
	k = byKey(events.Off(), func(key string) (resilience.Gate, error) {
		g := &watched{Breaker: quietBreaker("db")}
		if key != "a" {
			return g, nil
		}
		return &settling{g, func() {
			_ = k.RunKey(context.Background(), "b", succeed)
			_ = k.RunKey(context.Background(), "c", succeed)
		}}, nil
	}, atMost(1))
	if err := k.RunKey(t.Context(), "a", succeed); err != nil || keysOf(k) != "a" {
		t.Errorf("%v; keys %s: a was forgotten while its gate settled", err, keysOf(k))
	}
}

// settling does something before it settles.
type settling struct {
	*watched
	before func()
}

func (s *settling) Settle(ctx context.Context, c resilience.Call, p resilience.Permit, o resilience.Outcome) {
	s.before()
	s.watched.Settle(ctx, c, p, o)
}
