package promres

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/names"
)

// mustBeEmpty asserts that nothing is left in a registry: it takes a collector with all our names.
func mustBeEmpty(t *testing.T, reg *prometheus.Registry) {
	t.Helper()
	if left := scrape(t, reg); len(left) != 0 {
		t.Errorf("left in the registry: %v", left)
	}
	if err := reg.Register(newAdapter(events.NewBus(), Config{})); err != nil {
		t.Errorf("names are left in the registry: %v", err)
	}
}

// PROM-03
func TestAttachRefusesANilBus(t *testing.T) {
	reg := prometheus.NewRegistry()
	detach, err := Attach(nil, Config{Registerer: reg})
	if err == nil || detach != nil || !strings.Contains(err.Error(), "nil bus") {
		t.Errorf("Attach = %v, %v", detach != nil, err)
	}
	mustBeEmpty(t, reg)
}

// A Bus that was not made by NewBus is a mistake that package events panics over; the registry must not suffer from it.
func TestAttachToAZeroBusLeavesNothing(t *testing.T) {
	reg := prometheus.NewRegistry()
	bus := new(events.Bus)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = Attach(bus, Config{Registerer: reg})
	}()
	mustBeEmpty(t, reg)
	if err := reg.Register(newMark(bus)); err != nil {
		t.Errorf("left in the registry: %v", err)
	}
}

// PROM-03
func TestAttachRefusesWrongConfigurations(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Durations: 7}, "Config.Durations"},
		{Config{Keys: -1}, "Config.Keys"},
		{Config{Keys: 10_001}, "Config.Keys"},
		{Config{ConstLabels: prometheus.Labels{"le": "x"}}, "Config.ConstLabels"},
		{Config{ConstLabels: prometheus.Labels{"__x": "x"}}, "Config.ConstLabels"},
		{Config{ConstLabels: prometheus.Labels{"": "x"}}, "Config.ConstLabels"},
		{Config{ConstLabels: prometheus.Labels{"x": "\xff"}}, "Config.ConstLabels"},
		{Config{ConstLabels: prometheus.Labels{"resilience_pipeline_name": "x"}}, "Config.ConstLabels"},
		{Config{ConstLabels: prometheus.Labels{"error_type": "x"}}, "Config.ConstLabels"},
		{Config{Keys: 1, ConstLabels: prometheus.Labels{"resilience_key": "x"}}, "Config.ConstLabels"},
	} {
		bus, reg := events.NewBus(), prometheus.NewRegistry()
		c.cfg.Registerer = reg
		_, err := Attach(bus, c.cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want an error about %s", c.cfg, err, c.want)
		}
		mustBeEmpty(t, reg)
		if bus.CallsHeard() {
			t.Errorf("%+v: a subscription is left on the bus", c.cfg)
		}
	}
}

// PROM-03
func TestAttachRefusesANilRegistry(t *testing.T) {
	bus := events.NewBus()
	var none *prometheus.Registry
	if _, err := Attach(bus, Config{Registerer: none}); err == nil || !strings.Contains(err.Error(), "Config.Registerer") {
		t.Errorf("err = %v", err)
	}
	if bus.CallsHeard() {
		t.Error("a subscription is left on the bus")
	}
}

// PROM-03: the first stays as it was, and counts each call once.
func TestSecondAttachOfTheSameIsRefused(t *testing.T) {
	r := newRig(t, Config{})
	p := r.pipeline("users")
	for _, again := range []Config{
		{Registerer: r.reg},
		{Registerer: r.reg, ConstLabels: prometheus.Labels{"bus": "again"}},
	} {
		detach, err := Attach(r.bus, again)
		if !errors.Is(err, ErrAttached) || detach != nil {
			t.Errorf("Attach = %v, %v", detach != nil, err)
		}
	}
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess})
	r.want(map[string]float64{`executions_total{outcome="success",pipeline_name="users"}`: 1})
	r.detach()
	if r.bus.CallsHeard() {
		t.Error("a refused Attach left its subscriptions")
	}
	mustBeEmpty(t, r.reg)
}

// PROM-03
func TestRegistryWithOurNamesIsRefused(t *testing.T) {
	for _, other := range []prometheus.Collector{
		prometheus.NewCounter(prometheus.CounterOpts{Name: "resilience_executions_total", Help: "x"}),
		newCounters(names.Executions.Of(), nil).MetricVec,
		prometheus.NewGauge(prometheus.GaugeOpts{Name: "resilience_circuit_breaker_state", Help: "x"}),
	} {
		bus, reg := events.NewBus(), prometheus.NewRegistry()
		reg.MustRegister(other)
		if _, err := Attach(bus, Config{Registerer: reg}); err == nil || !strings.Contains(err.Error(), "metrics with our names") {
			t.Errorf("err = %v", err)
		}
		if bus.CallsHeard() {
			t.Error("a refused Attach left its subscriptions")
		}
		reg.Unregister(other)
		if left := scrape(t, reg); len(left) != 0 {
			t.Errorf("left in the registry: %v", left)
		}
		if err := reg.Register(newMark(bus)); err != nil {
			t.Errorf("left in the registry: %v", err)
		}
	}
}

// PROM-03
func TestTwoRegistriesOnOneBusBothCount(t *testing.T) {
	r := newRig(t, Config{})
	second := prometheus.NewPedanticRegistry()
	detach, err := Attach(r.bus, Config{Registerer: second})
	if err != nil {
		t.Fatal(err)
	}
	p := r.pipeline("users")
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess})
	const name = `executions_total{outcome="success",pipeline_name="users"}`
	r.want(map[string]float64{name: 1})
	if got := scrape(t, second)[name]; got != 1 {
		t.Errorf("the second registry has %v, want 1", got)
	}
	detach()
	mustBeEmpty(t, second)
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess})
	r.want(map[string]float64{name: 2})
}

// PROM-03: two buses need constant labels to tell them apart.
func TestTwoBusesOnOneRegistry(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	one, two := events.NewBus(), events.NewBus()
	detachOne := MustAttach(one, Config{Registerer: reg, ConstLabels: prometheus.Labels{"bus": "one"}})
	if _, err := Attach(two, Config{Registerer: reg}); err == nil {
		t.Error("a second bus without labels was accepted")
	}
	if _, err := Attach(two, Config{Registerer: reg, ConstLabels: prometheus.Labels{"bus": "one"}}); err == nil || !strings.Contains(err.Error(), "ConstLabels") {
		t.Errorf("a second bus with the first's labels: %v", err)
	}
	detachTwo := MustAttach(two, Config{Registerer: reg, ConstLabels: prometheus.Labels{"bus": "two"}})
	p, q := one.NewSource(events.SourceSpec{Pipeline: "users", Type: events.TypePipeline}), two.NewSource(events.SourceSpec{Pipeline: "users", Type: events.TypePipeline})
	call(one, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess})
	call(one, q, events.ExecutionFinished{Outcome: events.OutcomeSuccess}) // of another bus: not one's
	got := scrape(t, reg)
	if v := got[`executions_total{bus="one",outcome="success",pipeline_name="users"}`]; v != 1 {
		t.Errorf("bus one has %v, want 1", v)
	}
	if v, ok := got[`executions_total{bus="two",outcome="success",pipeline_name="users"}`]; !ok || v != 0 {
		t.Errorf("bus two has %v, %v, want 0", v, ok)
	}
	detachOne()
	if v, ok := scrape(t, reg)[`executions_total{bus="two",outcome="success",pipeline_name="users"}`]; !ok || v != 0 {
		t.Errorf("without bus one, bus two has %v, %v, want 0", v, ok)
	}
	detachTwo()
	for _, bus := range []*events.Bus{one, two} {
		if err := reg.Register(newMark(bus)); err != nil {
			t.Errorf("left in the registry: %v", err)
		}
	}
	if left := scrape(t, reg); len(left) != 0 {
		t.Errorf("left in the registry: %v", left)
	}
	runtime.KeepAlive(p)
	runtime.KeepAlive(q)
}

// PROM-03
func TestDetachRestores(t *testing.T) {
	r := newRig(t, Config{})
	p := r.pipeline("users", events.TypeRetry)
	r.breaker("db")
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, succeeded(events.AttemptInitial, 1))
	var running events.Ends[events.ExecutionFinished]
	r.bus.Execution.Begin(t.Context(), events.ExecutionStarted{Meta: events.Meta{Source: p}}, &running)
	r.detach()
	r.detach()
	running.Finish(events.ExecutionFinished{Outcome: events.OutcomeFailure})
	if r.bus.CallsHeard() || r.bus.BreakerStateChanged.Heard() {
		t.Error("subscriptions are left on the bus")
	}
	if left := r.scrape(); len(left) != 0 {
		t.Errorf("left in the registry: %v", left)
	}
	again := MustAttach(r.bus, Config{Registerer: r.reg})
	r.detach() // a detach that has been used up takes nothing of a later Attach
	r.want(map[string]float64{`executions_total{outcome="success",pipeline_name="users"}`: 0})
	again()
	mustBeEmpty(t, r.reg)
}

func TestMustAttachPanicsWithTheError(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), "nil bus") {
			t.Errorf("panicked with %v", err)
		}
	}()
	MustAttach(nil, Config{})
}

// The default is the default registry.
func TestNilRegistererIsTheDefaultOne(t *testing.T) {
	was := prometheus.DefaultRegisterer
	reg := prometheus.NewRegistry()
	prometheus.DefaultRegisterer = reg
	defer func() { prometheus.DefaultRegisterer = was }()
	detach := MustAttach(events.NewBus(), Config{})
	if all := scrape(t, reg); len(all) == 0 || len(ofSources(all)) != 0 {
		t.Errorf("in the default registry: %v, want those of the bus and the build", all)
	}
	detach()
	mustBeEmpty(t, reg)
}

// A bus that hears nothing has nothing to show.
func TestOffBusIsQuiet(t *testing.T) {
	reg := prometheus.NewRegistry()
	detach := MustAttach(events.Off(), Config{Registerer: reg})
	events.Off().NewSource(events.SourceSpec{Pipeline: "users", Type: events.TypePipeline})
	if got := scrape(t, reg); len(got) != 1 {
		t.Errorf("got %v, want build_info alone", got)
	}
	detach()
	mustBeEmpty(t, reg)
}

// refusing is a Registerer that has no room.
type refusing struct {
	prometheus.Registerer
	after int
	kept  int
}

func (r *refusing) Register(prometheus.Collector) error {
	if r.kept == r.after {
		return errBoom
	}
	r.kept++
	return nil
}

func (r *refusing) Unregister(prometheus.Collector) bool { r.kept--; return true }

// PROM-03: whatever a Registerer refuses, nothing stays behind.
func TestRefusedAttachLeavesNothing(t *testing.T) {
	for after := range 2 {
		bus, full := events.NewBus(), &refusing{after: after}
		detach, err := Attach(bus, Config{Registerer: full})
		if !errors.Is(err, errBoom) || detach != nil {
			t.Errorf("Attach = %v, %v", detach != nil, err)
		}
		if full.kept != 0 || bus.CallsHeard() {
			t.Errorf("%d collectors are left, subscriptions: %v", full.kept, bus.CallsHeard())
		}
	}
}
