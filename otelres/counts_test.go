package otelres_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

const executions = "resilience.executions"

var succeeded = setOf("resilience.pipeline.name", "users.get", "resilience.outcome", "success")

func deltas(sdkmetric.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }

// keepsOutcome is a view that makes one series of those of all pipelines.
var keepsOutcome = sdkmetric.NewView(sdkmetric.Instrument{Name: executions},
	sdkmetric.Stream{AttributeFilter: attribute.NewAllowKeysFilter("resilience.outcome")})

// PROM-01: a pipeline that is closed and made again goes on counting, and those of one name count together.
func TestCountsGoOnWhenAPipelineIsMadeAgain(t *testing.T) {
	var duplicates int
	r := newRig(t, func(c *otelres.Config) { c.MeterProvider = uniqueMeters{c.MeterProvider, &duplicates} })
	first, second := r.pipeline("users.get", events.TypeRetry), r.pipeline("users.get", events.TypeTimeout)
	want := 0.0
	for _, s := range []*events.Source{first, second, r.pipeline("users.get")} {
		r.succeed(context.Background(), s)
		want++
		if got := r.value(executions, "resilience.pipeline.name", "users.get", "resilience.outcome", "success"); got != want {
			t.Errorf("executions = %v, want %v", got, want)
		}
		r.bus.Remove(s)
	}
	if duplicates != 0 {
		t.Errorf("%d observations repeat a series of the same collection", duplicates)
	}
}

// exporter notes what a periodic reader sends, as the values of the series of executions that succeeded.
type exporter struct {
	temporality metricdata.Temporality
	sent        []float64
	names       map[string]bool
}

func (e *exporter) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality { return e.temporality }
func (e *exporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}
func (e *exporter) Export(_ context.Context, data *metricdata.ResourceMetrics) error {
	e.names = map[string]bool{}
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			e.names[m.Name] = true
			if m.Name == executions {
				e.sent = append(e.sent, seriesOf(m)[succeeded])
			}
		}
	}
	return nil
}
func (e *exporter) ForceFlush(context.Context) error { return nil }
func (e *exporter) Shutdown(context.Context) error   { return nil }

// PROM-03: main detaches before it shuts the provider down; what was counted since the last collection is sent still, and
// nothing is counted any more.
func TestWhatWasCountedBeforeDetachIsSent(t *testing.T) {
	for _, c := range []struct {
		temporality            metricdata.Temporality
		first, second, flushed float64
	}{
		{metricdata.CumulativeTemporality, 1, 3, 3},
		{metricdata.DeltaTemporality, 1, 2, 0},
	} {
		out := &exporter{temporality: c.temporality}
		meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(out, sdkmetric.WithInterval(time.Hour))))
		r := newRig(t, func(cfg *otelres.Config) { cfg.MeterProvider = meters })
		users := r.pipeline("users.get")
		r.succeed(context.Background(), users)
		if err := meters.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.succeed(context.Background(), users)
		r.succeed(context.Background(), users)
		r.detach()
		r.succeed(context.Background(), users)
		if err := meters.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := meters.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(out.sent) != 3 || out.sent[0] != c.first || out.sent[1] != c.second || out.sent[2] != c.flushed {
			t.Errorf("%v: sent %v, want %v, %v, %v", c.temporality, out.sent, c.first, c.second, c.flushed)
		}
		if out.names["resilience.execution.active"] || out.names["resilience.bus.handler_panics"] {
			t.Errorf("%v: what is read of the bus is still told: %v", c.temporality, out.names)
		}
	}
}

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
	there *int
}

func (r registrations) Meter(name string, o ...metric.MeterOption) metric.Meter {
	return registrationsMeter{r.MeterProvider.Meter(name, o...), r.there}
}

type registrationsMeter struct {
	metric.Meter
	there *int
}

func (r registrationsMeter) RegisterCallback(f metric.Callback, of ...metric.Observable) (metric.Registration, error) {
	*r.there++
	registration, err := r.Meter.RegisterCallback(f, of...)
	return counted{registration, r.there}, err
}

type counted struct {
	metric.Registration
	there *int
}

func (c counted) Unregister() error {
	*c.there--
	return c.Registration.Unregister()
}

// PROM-03: however often an adapter is attached to a provider, one callback stays.
func TestCallbacksDoNotPileUp(t *testing.T) {
	there := 0
	meters := registrations{sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())), &there}
	bus := events.NewBus()
	for range 5 {
		otelres.MustAttach(bus, otelres.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: meters})()
	}
	if there != 1 {
		t.Errorf("%d callbacks are left, want that of the counts", there)
	}
}

// BUS-10: what a provider goes on telling holds neither the bus nor the adapter, and goes with the provider.
func TestTheCountsHoldNoBus(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	bus, provider := func() (weak.Pointer[events.Bus], weak.Pointer[sdkmetric.MeterProvider]) {
		bus := events.NewBus()
		detach := otelres.MustAttach(bus, otelres.Config{MeterProvider: meters})
		s := bus.NewSource(pipelineSpec("users.get", events.TypeRetry))
		observedCall(bus, s)
		detach()
		return weak.Make(bus), weak.Make(meters)
	}()
	if !collected(func() bool { return bus.Value() == nil }) {
		t.Error("the bus is held")
	}
	if got := seriesOf(collect(t, reader)[executions])[succeeded]; got != 1 {
		t.Errorf("executions = %v, want 1", got)
	}
	runtime.KeepAlive(meters)
	if !collected(func() bool { return provider.Value() == nil }) {
		t.Error("the provider is held")
	}
}

func collected(gone func() bool) bool {
	for range 1000 {
		if gone() {
			return true
		}
		runtime.GC()
		runtime.Gosched()
	}
	return false
}

// Where the SDK keeps fewer series than there are, it keeps the same ones at each collection: no sum falls, no change is
// below zero, and nothing is lost.
func TestSeriesBeyondTheSDKsLimit(t *testing.T) {
	sums, changes := sdkmetric.NewManualReader(), sdkmetric.NewManualReader(sdkmetric.WithTemporalitySelector(deltas))
	r := newRig(t, func(c *otelres.Config) {
		c.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(sums), sdkmetric.WithReader(changes), sdkmetric.WithCardinalityLimit(20))
	})
	before, changed := map[string]float64{}, 0.0
	for round := range 5 {
		for _, name := range []string{"a", "b", "c", "d"}[:min(round+1, 4)] {
			r.succeed(context.Background(), r.pipeline(name, events.TypeFallback))
		}
		now, total := seriesOf(collect(t, sums)[executions]), 0.0
		for set, n := range now {
			total += n
			if n < before[set] {
				t.Errorf("round %d: %s fell from %v to %v", round, set, before[set], n)
			}
		}
		for set := range before {
			if _, ok := now[set]; !ok {
				t.Errorf("round %d: %s is gone", round, set)
			}
		}
		for set, n := range seriesOf(collect(t, changes)[executions]) {
			if changed += n; n < 0 {
				t.Errorf("round %d: %s changed by %v", round, set, n)
			}
		}
		if want := []float64{1, 3, 6, 10, 14}[round]; total != want || changed != want {
			t.Errorf("round %d: %v executions, and %v by their changes, want %v", round, total, changed, want)
		}
		before = now
	}
	if _, ok := before[text(attribute.NewSet(attribute.Bool("otel.metric.overflow", true)))]; !ok {
		t.Errorf("nothing is beyond the limit: %v", before)
	}
}

// Views drop, rename and filter the counters as any others, for one reader or for all.
func TestViewsOfCounters(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	none := sdkmetric.NewManualReader(sdkmetric.WithAggregationSelector(func(sdkmetric.InstrumentKind) sdkmetric.Aggregation {
		return sdkmetric.AggregationDrop{}
	}))
	handled := handleErrors(t)
	r := newRig(t, func(c *otelres.Config) {
		c.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithReader(none),
			sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: "resilience.attempts"}, sdkmetric.Stream{Aggregation: sdkmetric.AggregationDrop{}})),
			sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: "resilience.execution.wait.time"}, sdkmetric.Stream{Name: "waited"})),
			sdkmetric.WithView(keepsOutcome))
	})
	for _, name := range []string{"users.get", "orders.get"} {
		r.execution(context.Background(), r.pipeline(name), events.ExecutionFinished{Outcome: events.OutcomeSuccess, Backoff: time.Second}, nil)
	}
	all := collect(t, reader)
	if got := seriesOf(all[executions])[setOf("resilience.outcome", "success")]; got != 2 {
		t.Errorf("executions = %v, want 2", got)
	}
	if got := seriesOf(all["waited"])[setOf("resilience.pipeline.name", "users.get", "resilience.wait.kind", "backoff")]; got != 1 {
		t.Errorf("waited = %v, want 1 s", got)
	}
	if _, ok := all["resilience.attempts"]; ok {
		t.Error("what a view drops is told")
	}
	if got := collect(t, none); len(got) != 0 {
		t.Errorf("a reader that drops all gets %v", got)
	}
	if errs := handled(); len(errs) != 0 {
		t.Errorf("handled %v", errs)
	}
}

// Counters have no exemplars: they are read when the SDK collects, when no trace is current.
func TestCountersCarryNoExemplars(t *testing.T) {
	r := newRig(t)
	r.succeed(context.Background(), r.pipeline("users.get", events.TypeRetry))
	for name, m := range r.collect() {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
			for _, p := range sum.DataPoints {
				if len(p.Exemplars) != 0 {
					t.Errorf("%s has exemplars: the documentation says that it has none", name)
				}
			}
		}
	}
}

// Waiting is summed by many at once, exactly, and beyond what a Duration holds.
func TestWaitingIsSummed(t *testing.T) {
	r := newRig(t)
	users := r.pipeline("users.get")
	wait := func(backoff, queued time.Duration) {
		var ends events.Ends[events.ExecutionFinished]
		meta := events.Meta{Source: users}
		r.bus.Execution.Begin(context.Background(), events.ExecutionStarted{Meta: meta}, &ends)
		ends.Finish(events.ExecutionFinished{Meta: meta, Outcome: events.OutcomeSuccess, Backoff: backoff, Queued: queued})
	}
	waited := func(kind string) float64 {
		return r.value("resilience.execution.wait.time", "resilience.pipeline.name", "users.get", "resilience.wait.kind", kind)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				wait(250*time.Millisecond, 0)
			}
		})
	}
	all.Wait()
	if got := waited("backoff"); got != 2000 {
		t.Errorf("backoff = %v s, want 2000", got)
	}
	const longest = time.Duration(1<<63 - 1)
	for i := range 3 {
		wait(-longest, longest)
		if got, want := waited("queue"), float64(i+1)*longest.Seconds(); got != want {
			t.Errorf("queued = %v s, want %v", got, want)
		}
	}
	if got := waited("backoff"); got != 2000 {
		t.Errorf("backoff = %v s after one below zero, want 2000 still", got)
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

// Adapters that are attached to one provider at the same moment count together.
func TestManyAreAttachedAtOnce(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	var all sync.WaitGroup
	for range 8 {
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
	if got := seriesOf(collect(t, reader)[executions])[succeeded]; got != 160 {
		t.Errorf("executions = %v, want 160", got)
	}
}

// panicky panics when its n-th callback is registered.
type panicky struct {
	metric.MeterProvider
	n *int
}

type panickyMeter struct {
	metric.Meter
	n *int
}

func (p panicky) Meter(name string, o ...metric.MeterOption) metric.Meter {
	return panickyMeter{p.MeterProvider.Meter(name, o...), p.n}
}

func (p panickyMeter) RegisterCallback(f metric.Callback, of ...metric.Observable) (metric.Registration, error) {
	if *p.n--; *p.n == 0 {
		panic("register")
	}
	return p.Meter.RegisterCallback(f, of...)
}

// A provider that panics while an adapter is attached leaves nothing on the bus, and the next one counts once.
func TestAProviderThatPanicsWhenAttached(t *testing.T) {
	for _, n := range []int{1, 2} {
		bus, reader := events.NewBus(), sdkmetric.NewManualReader()
		cfg := otelres.Config{TracerProvider: tracenoop.NewTracerProvider(),
			MeterProvider: panicky{sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), &n}}
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
