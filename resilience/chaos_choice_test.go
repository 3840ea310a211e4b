package resilience_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// A call with another key, or with none, is left alone, and so is every call while nobody has enabled it.
func TestAChaosLeavesOtherKeysAlone(t *testing.T) {
	p := ints(events.Off(), chaos(resilience.ChaosConfig{Err: errBoom, Keys: []string{"a"}}))
	for key, want := range map[string]error{"a": errBoom, "b": nil, "": nil} {
		if err := p.RunKey(t.Context(), key, succeed); err != want {
			t.Errorf("%q: %v, want %v", key, err, want)
		}
	}
	off := resilience.MustChaos(resilience.ChaosConfig{Name: "off", Rate: 1, Err: errBoom, Bus: events.Off()})
	if err := ints(events.Off(), off).Run(t.Context(), succeed); err != nil || off.Enabled() {
		t.Errorf("%v, of %v", err, off)
	}
}

// Of many calls as many are disturbed as Rate says, and no others.
func TestAChaosDisturbsTheShareThatRateTells(t *testing.T) {
	const calls = 20_000
	p := ints(events.Off(), chaos(resilience.ChaosConfig{Rate: 0.02, Seed: 7, Err: errBoom}))
	disturbed := 0
	for range calls {
		if err := p.Run(t.Context(), succeed); errors.Is(err, errBoom) {
			disturbed++
		}
	}
	if disturbed < 330 || disturbed > 470 { // 400, with a deviation of 20
		t.Errorf("%d of %d", disturbed, calls)
	}
}

// Either bound of the latency will do.
func TestAChaosHasALatencyWithEitherBound(t *testing.T) {
	for _, c := range []struct{ least, most time.Duration }{{0, time.Second}, {time.Second, time.Second}, {time.Second, 0}} {
		made, err := resilience.NewChaos(resilience.ChaosConfig{Name: "slow", Rate: 1, Latency: c.least, MaxLatency: c.most, Bus: events.Off()})
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		text := fmt.Sprint(c.least)
		if c.most > c.least {
			text += ".." + fmt.Sprint(c.most)
		}
		for _, want := range []resilience.Setting{{Name: "faults", Value: "latency"}, {Name: "latency", Value: text}} {
			if got := made.LayerInfo().Settings; !slices.Contains(got, want) {
				t.Errorf("%+v: %+v, want %+v among them", c, got, want)
			}
		}
	}
}
