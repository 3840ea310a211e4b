package otelres_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// apart are providers whose meters Go cannot tell to be the same.
type (
	apart      struct{ metric.MeterProvider }
	apartMeter struct {
		metric.Meter
		_ []int
	}
)

func (a apart) Meter(name string, o ...metric.MeterOption) metric.Meter {
	return apartMeter{Meter: a.MeterProvider.Meter(name, o...)}
}

// PROM-03: adapters that are attached to one provider, one after another and at once, count into the same sums, whether
// they share their counts or the SDK adds them up.
func TestAdaptersOfOneProviderCountTogether(t *testing.T) {
	for name, provider := range map[string]func(metric.MeterProvider) metric.MeterProvider{
		"shared": func(p metric.MeterProvider) metric.MeterProvider { return p },
		"apart":  func(p metric.MeterProvider) metric.MeterProvider { return apart{p} },
	} {
		sums, changes := sdkmetric.NewManualReader(), sdkmetric.NewManualReader(sdkmetric.WithTemporalitySelector(deltas))
		filtered := sdkmetric.NewManualReader()
		plain := provider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sums), sdkmetric.WithReader(changes)))
		viewed := provider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(filtered), sdkmetric.WithView(keepsOutcome)))
		total := 0.0
		for range 3 {
			calls := 0.0
			var detaches []func()
			for _, pipeline := range []string{"users.get", "users.get", "orders.get"} {
				bus := events.NewBus()
				for _, meters := range []metric.MeterProvider{plain, viewed} {
					detaches = append(detaches, otelres.MustAttach(bus, otelres.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: meters}))
				}
				s := bus.NewSource(pipelineSpec(pipeline))
				observedCall(bus, s)
				runtime.KeepAlive(s)
				if pipeline == "users.get" {
					calls++
				}
			}
			total += calls
			for i, want := range map[*sdkmetric.ManualReader]float64{sums: total, changes: calls} {
				if got := seriesOf(collect(t, i)[executions])[succeeded]; got != want {
					t.Errorf("%s: executions = %v, want %v", name, got, want)
				}
			}
			if got, want := seriesOf(collect(t, filtered)[executions])[setOf("resilience.outcome", "success")], total*3/2; got != want {
				t.Errorf("%s: executions of all pipelines = %v, want %v", name, got, want)
			}
			for _, detach := range detaches {
				detach()
			}
		}
	}
}

// registrations counts the callbacks that there are.
type registrations struct {
	metric.MeterProvider
	there *atomic.Int64
}

func (r registrations) Meter(name string, o ...metric.MeterOption) metric.Meter {
	return registrationsMeter{r.MeterProvider.Meter(name, o...), r.there}
}

type registrationsMeter struct {
	metric.Meter
	there *atomic.Int64
}

func (r registrationsMeter) RegisterCallback(f metric.Callback, of ...metric.Observable) (metric.Registration, error) {
	r.there.Add(1)
	registration, err := r.Meter.RegisterCallback(f, of...)
	return counted{registration, r.there}, err
}

type counted struct {
	metric.Registration
	there *atomic.Int64
}

func (c counted) Unregister() error {
	c.there.Add(-1)
	return c.Registration.Unregister()
}

// PROM-03: however often an adapter is attached to a provider, one callback stays.
func TestCallbacksDoNotPileUp(t *testing.T) {
	var there atomic.Int64
	meters := registrations{sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())), &there}
	bus := events.NewBus()
	for range 5 {
		otelres.MustAttach(bus, otelres.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: meters})()
	}
	if n := there.Load(); n != 1 {
		t.Errorf("%d callbacks are left, want that of the counts", n)
	}
}

// What was counted for a global provider before an SDK is set is told by that SDK, also when the adapter has gone.
func TestCountsReachAnSDKThatIsSetAfterDetach(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	reader := sdkmetric.NewManualReader()
	bus := events.NewBus()
	s := bus.NewSource(pipelineSpec("users.get"))
	for range 2 {
		detach := otelres.MustAttach(bus, otelres.Config{TracerProvider: tracenoop.NewTracerProvider()})
		observedCall(bus, s)
		detach()
	}
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	defer otelres.MustAttach(bus, otelres.Config{TracerProvider: tracenoop.NewTracerProvider()})() // now to the SDK itself
	observedCall(bus, s)
	for range 2 {
		if got := seriesOf(collect(t, reader)[executions])[succeeded]; got != 3 {
			t.Errorf("executions = %v, want 3", got)
		}
	}
}

// asking is a provider that asks before it registers a callback.
type asking struct {
	metric.MeterProvider
	ask func() error
}

type askingMeter struct {
	metric.Meter
	by *asking
}

func (p *asking) Meter(name string, o ...metric.MeterOption) metric.Meter {
	return askingMeter{p.MeterProvider.Meter(name, o...), p}
}

func (m askingMeter) RegisterCallback(f metric.Callback, of ...metric.Observable) (metric.Registration, error) {
	if err := m.by.ask(); err != nil {
		return nil, err
	}
	return m.Meter.RegisterCallback(f, of...)
}

// Adapters that are attached to one provider at the same moment count together, and leave one callback.
func TestManyAreAttachedAtOnce(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	var there atomic.Int64
	var all, met sync.WaitGroup
	met.Add(2)
	var asked atomic.Int32
	meters := &asking{registrations{sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), &there}, func() error {
		if asked.Add(1) <= 2 { // at the same moment
			met.Done()
			met.Wait()
		}
		return nil
	}}
	for range 4 {
		all.Go(func() {
			for range 20 {
				bus := events.NewBus()
				detach := otelres.MustAttach(bus, otelres.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: meters})
				s := bus.NewSource(pipelineSpec("users.get"))
				observedCall(bus, s)
				runtime.KeepAlive(s)
				detach()
			}
		})
	}
	all.Wait()
	if got := seriesOf(collect(t, reader)[executions])[succeeded]; got != 80 {
		t.Errorf("executions = %v, want 80", got)
	}
	if n := there.Load(); n != 1 {
		t.Errorf("%d callbacks are left, want 1", n)
	}
}

// A provider that panics while an adapter is attached leaves nothing on the bus, and the next one counts once.
func TestAProviderThatPanicsWhenAttached(t *testing.T) {
	for _, n := range []int{1, 2} {
		bus, reader := events.NewBus(), sdkmetric.NewManualReader()
		cfg := otelres.Config{TracerProvider: tracenoop.NewTracerProvider(),
			MeterProvider: &asking{sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), func() error {
				if n--; n == 0 {
					panic("register")
				}
				return nil
			}}}
		func() {
			defer func() {
				if v := recover(); v != "register" {
					t.Errorf("panicked with %v", v)
				}
			}()
			otelres.MustAttach(bus, cfg)
		}()
		if bus.CallsHeard() {
			t.Error("something is left on the bus")
		}
		defer otelres.MustAttach(bus, cfg)()
		s := bus.NewSource(pipelineSpec("users.get"))
		observedCall(bus, s)
		if got := seriesOf(collect(t, reader)[executions])[succeeded]; got != 1 {
			t.Errorf("executions = %v, want 1", got)
		}
		runtime.KeepAlive(s)
	}
}

// Counts that a provider refuses to read are not what a later adapter counts into.
func TestAProviderThatRefusesOnce(t *testing.T) {
	handled := handleErrors(t)
	asked, reader := 0, sdkmetric.NewManualReader()
	cfg := otelres.Config{TracerProvider: tracenoop.NewTracerProvider(),
		MeterProvider: &asking{sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), func() error {
			if asked++; asked == 1 {
				return errors.New("not now")
			}
			return nil
		}}}
	defer otelres.MustAttach(events.NewBus(), cfg)()
	if errs := handled(); len(errs) != 1 {
		t.Errorf("handled %v, want the refusal", errs)
	}
	bus := events.NewBus()
	defer otelres.MustAttach(bus, cfg)()
	s := bus.NewSource(pipelineSpec("users.get"))
	observedCall(bus, s)
	if got := seriesOf(collect(t, reader)[executions])[succeeded]; got != 1 {
		t.Errorf("executions = %v, want 1", got)
	}
	runtime.KeepAlive(s)
}
