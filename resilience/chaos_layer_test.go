package resilience_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-07, PIPE-06
func TestAChaosWhoseValueDoesNotFitIsRefused(t *testing.T) {
	build := func(l ...resilience.Layer) error {
		_, err := resilience.NewPipeline(resilience.PipelineConfig[int]{Name: "p", Layers: l, Bus: events.Off()})
		return err
	}
	twice := chaos(resilience.ChaosConfig{Err: errBoom})
	for says, layers := range map[string][]resilience.Layer{
		"layer 0: drill does not fit a pipeline of int: it is a *resilience.Chaos whose Value is a string, neither a int nor a func() int": {chaos(resilience.ChaosConfig{Value: "text"})},
		"whose Value is a func() string":                                {chaos(resilience.ChaosConfig{Value: func() string { return "" }})},
		"whose Value is a func() int":                                   {chaos(resilience.ChaosConfig{Value: (func() int)(nil)})},
		"layer 0: is a *resilience.Chaos that was not made by NewChaos": {&resilience.Chaos{}},
		"layer 0: is a nil *resilience.Chaos":                           {(*resilience.Chaos)(nil)},
		"layer 1 (drill) is the same *resilience.Chaos as layer 0":      {twice, twice},
	} {
		if err := build(layers...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q in it", err, says)
		}
	}
	if err := build(twice); err != nil {
		t.Error(err)
	}
}

func TestOneChaosServesPipelinesOfSeveralTypes(t *testing.T) {
	c := chaos(resilience.ChaosConfig{Err: errBoom})
	text := resilience.MustPipeline(resilience.PipelineConfig[string]{Name: "text", Layers: []resilience.Layer{c}, Bus: events.Off()})
	if err := errors.Join(text.Run(t.Context(), succeed), ints(events.Off(), c).Run(t.Context(), succeed)); err == nil || strings.Count(err.Error(), "boom") != 2 {
		t.Errorf("got %v, want both disturbed", err)
	}
	if err := resilience.Run(t.Context(), succeed, c); !errors.Is(err, errBoom) {
		t.Errorf("one-off: %v", err)
	}
}

func TestDescribeShowsTheChaos(t *testing.T) {
	c := resilience.MustChaos(resilience.ChaosConfig{Name: "drill", Rate: 0.25, Latency: time.Second, MaxLatency: time.Minute, Value: 1, Keys: []string{"a"}, Seed: 9, Bus: events.Off()})
	l := ints(events.Off(), c).Describe().Layers[0]
	var all []string
	for _, s := range l.Settings {
		all = append(all, s.Name+"="+s.Value)
	}
	if got := strings.Join(all, " "); got != "enabled_at_start=false rate=0.25 faults=latency+value latency=1s..1m0s keys=1 seed=9" || l.Type != events.TypeChaos || l.Shared != "drill" {
		t.Errorf("%s %+v", got, l)
	}
	random := func() string {
		s := chaos(resilience.ChaosConfig{Err: errBoom}).LayerInfo().Settings
		return s[len(s)-1].Value
	}
	if a, b := random(), random(); a == b || a == "0" {
		t.Errorf("the seeds drawn are %s and %s", a, b)
	}
}

// BUS-02: it costs nothing while it is off.
func TestAllocationsOfAChaos(t *testing.T) {
	c := chaos(resilience.ChaosConfig{Err: errBoom, Rate: 0.5})
	for what, layers := range map[string][]resilience.Layer{"alone": {c}, "in a retry": {resilience.Retry{Backoff: resilience.NoDelay}, c}} {
		p := ints(events.NewBus(), layers...)
		c.Disable()
		if got := testing.AllocsPerRun(300, func() { p.Do(context.Background(), one) }); got != 0 {
			t.Errorf("%s, off: %v allocations", what, got)
		}
		c.Enable()
		if got := testing.AllocsPerRun(300, func() { p.Do(context.Background(), one) }); got > 3 {
			t.Errorf("%s, on: %v allocations", what, got)
		}
	}
}

// RET-02: an attempt is a run of the operation, and a fault is none, whether somebody listens or not.
func TestAFaultIsNoAttempt(t *testing.T) {
	for _, bus := range []*events.Bus{events.NewBus(), listened()} {
		n := 0
		c := chaos(resilience.ChaosConfig{Err: errBoom, If: func(context.Context, resilience.Call) bool { n++; return n == 1 }})
		number := 0
		p := ints(bus, resilience.Retry{Backoff: resilience.NoDelay}, c)
		err := p.Run(t.Context(), func(ctx context.Context) error { number = resilience.AttemptNumber(ctx); return nil })
		if err != nil || number != 1 || n != 2 {
			t.Errorf("%v: the run after the fault is attempt %d, want 1", err, number)
		}
	}
}

func BenchmarkChaosOff(b *testing.B) {
	c := chaos(resilience.ChaosConfig{Err: errBoom})
	c.Disable()
	bench(b, resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Layers: []resilience.Layer{c}, Bus: events.NewBus()}), one)
}
