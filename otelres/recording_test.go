package otelres_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// strictMeters is a provider that notes the contexts it is given. A context that is done it would drop, as a provider may.
type strictMeters struct {
	metricnoop.MeterProvider
	enabled  bool
	contexts []context.Context
}

func (m *strictMeters) Meter(string, ...metric.MeterOption) metric.Meter { return strictMeter{m: m} }

type strictMeter struct {
	metricnoop.Meter
	m *strictMeters
}

func (s strictMeter) Int64Histogram(string, ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	return strictNumbers{m: s.m}, nil
}

func (s strictMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return strictHistogram{m: s.m}, nil
}

type strictNumbers struct {
	metricnoop.Int64Histogram
	m *strictMeters
}

func (h strictNumbers) Enabled(context.Context) bool { return h.m.enabled }
func (h strictNumbers) Record(ctx context.Context, _ int64, _ ...metric.RecordOption) {
	h.m.contexts = append(h.m.contexts, ctx)
}

type strictHistogram struct {
	metricnoop.Float64Histogram
	m *strictMeters
}

func (h strictHistogram) Enabled(context.Context) bool { return h.m.enabled }
func (h strictHistogram) Record(ctx context.Context, _ float64, _ ...metric.RecordOption) {
	h.m.contexts = append(h.m.contexts, ctx)
}

// OTEL-03: recording goes on when the caller's context is cancelled, and still knows the trace, for exemplars.
func TestRecordingGoesOnWhenTheCallerLeft(t *testing.T) {
	meters := &strictMeters{enabled: true}
	r := newRig(t, func(c *otelres.Config) { c.MeterProvider = meters })
	users := r.pipeline("users.get", events.TypeRetry)
	ctx, cancel := context.WithCancel(context.Background())
	r.execution(ctx, users, events.ExecutionFinished{Outcome: events.OutcomeCanceled, Err: context.Canceled}, func(ctx context.Context) {
		r.attempt(ctx, users, 1, 0, events.AttemptFinished{Outcome: events.OutcomeCanceled}, func(context.Context) { cancel() })
	})
	traceID := r.ended("users.get").SpanContext().TraceID()
	if n := len(meters.contexts); n != 3 { // the attempt's duration, the execution's, and how many attempts it took
		t.Fatalf("%d recordings, want 3", n)
	}
	for i, ctx := range meters.contexts {
		if _, limited := ctx.Deadline(); ctx.Err() != nil || ctx.Done() != nil || limited {
			t.Errorf("recording %d was given a context that ends", i)
		}
		if got := trace.SpanContextFromContext(ctx).TraceID(); got != traceID {
			t.Errorf("recording %d was given trace %v, want %v", i, got, traceID)
		}
	}
}

// An exemplar needs no span of ours: the caller's is enough.
func TestTheCallersTraceReachesTheMetricsWithoutSpansOfOurs(t *testing.T) {
	meters := &strictMeters{enabled: true}
	r := newRig(t, func(c *otelres.Config) { c.MeterProvider, c.TracerProvider = meters, tracenoop.NewTracerProvider() })
	users := r.pipeline("users.get")
	ctx, caller := r.tracers.Tracer("test").Start(context.Background(), "caller")
	defer caller.End()
	r.execution(ctx, users, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(inside context.Context) {
		if inside != ctx {
			t.Error("the context was derived for nothing")
		}
	})
	for i, ctx := range meters.contexts {
		if spanID(ctx) != caller.SpanContext().SpanID() {
			t.Errorf("recording %d does not know the caller's span", i)
		}
	}
	if n := len(r.spans.Started()); n != 1 {
		t.Errorf("%d spans, want the caller's alone", n)
	}
}

// typed counts how often it is asked for its type.
type typed struct{ asked *int }

func (typed) Error() string       { return "typed" }
func (e typed) ErrorType() string { *e.asked++; return "typed" }

// OTEL-03: with nothing sampled and no metrics no attribute is computed. With metrics, the type of an attempt's error is.
func TestNothingIsComputedForNobody(t *testing.T) {
	never, disabled := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())), &strictMeters{}
	for _, c := range []struct {
		name    string
		tracers trace.TracerProvider
		meters  metric.MeterProvider
		want    int
	}{
		{"nothing sampled, no metrics", never, metricnoop.NewMeterProvider(), 0},
		{"no spans, no metrics", tracenoop.NewTracerProvider(), metricnoop.NewMeterProvider(), 0},
		{"no spans, no instrument enabled", tracenoop.NewTracerProvider(), disabled, 1},
		{"nothing sampled, no instrument enabled", never, disabled, 1},
	} {
		asked := 0
		r := newRig(t, func(cfg *otelres.Config) { cfg.TracerProvider, cfg.MeterProvider = c.tracers, c.meters })
		users := r.pipeline("users.get", events.TypeRetry)
		failure := typed{&asked}
		r.execution(context.Background(), users, events.ExecutionFinished{Outcome: events.OutcomeFailure, Err: failure}, func(ctx context.Context) {
			r.attempt(ctx, users, 1, 0, events.AttemptFinished{Outcome: events.OutcomeFailure, Err: failure}, nil)
			r.bus.RetryScheduled.Publish(ctx, events.RetryScheduled{Meta: events.Meta{Source: layer(users, events.TypeRetry)}, Err: failure})
		})
		if asked != c.want {
			t.Errorf("%s: the error's type was asked for %d times, want %d", c.name, asked, c.want)
		}
	}
	if n := len(disabled.contexts); n != 0 {
		t.Errorf("%d recordings to instruments that are not enabled", n)
	}
}

// OTEL-03: where spans and metrics go nowhere, calls are not even heard.
func TestProvidersThatDoNothingCostNothing(t *testing.T) {
	bus := events.NewBus()
	detach := otelres.MustAttach(bus, otelres.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()})
	defer detach()
	if bus.CallsHeard() {
		t.Error("calls are heard")
	}
}

// failingMeters makes instruments that work, and complains about each.
type failingMeters struct {
	metric.MeterProvider
	err error
}

func (f failingMeters) Meter(name string, o ...metric.MeterOption) metric.Meter {
	return failingMeter{f.MeterProvider.Meter(name, o...), f.err}
}

type failingMeter struct {
	metric.Meter
	err error
}

func (f failingMeter) Int64ObservableCounter(name string, o ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	c, _ := f.Meter.Int64ObservableCounter(name, o...)
	return c, f.err
}

func (f failingMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return nil, f.err
}

// OTEL-03: the adapter's own failures go to otel.Handle, and the rest works.
func TestFailuresOfTheAdapterGoToTheHandler(t *testing.T) {
	handled := handleErrors(t)
	wrong := errors.New("wrong view")
	r := newRig(t, func(c *otelres.Config) { c.MeterProvider = failingMeters{c.MeterProvider, wrong} })
	errs := handled()
	if len(errs) != 15 { // thirteen counters, two registrations
		t.Errorf("%d errors handled, want 15: %v", len(errs), errs)
	}
	for _, err := range errs {
		if !errors.Is(err, wrong) {
			t.Errorf("%v does not tell the cause", err)
		}
	}
	users := r.pipeline("users.get")
	r.succeed(context.Background(), users)
	if got := r.value("resilience.execution.duration", "resilience.pipeline.name", "users.get", "resilience.outcome", "success"); got != 1 {
		t.Errorf("durations = %v, want 1", got)
	}
}

// OTEL-03
func TestPanicOfAStateReadingIsHandledAndTheOthersAreRead(t *testing.T) {
	handled := handleErrors(t)
	r := newRig(t)
	bad := r.breaker("bad", func() events.BreakerReading { panic("secret") })
	good := r.breaker("good", func() events.BreakerReading { return events.BreakerReading{State: events.StateOpen} })
	got := seriesOf(r.collect()["resilience.circuit_breaker.state"])
	if len(got) != len(events.States()) || got[setOf("resilience.layer.name", good.Layer(), "resilience.circuit_breaker.state", "open")] != 1 {
		t.Errorf("state = %v, want that of good alone", got)
	}
	if errs := handled(); len(errs) != 1 || errs[0].Error() != "otelres: reading the state of bad panicked with a string" {
		t.Errorf("handled %v", errs)
	}
	r.bus.Remove(bad)
}

// handleErrors collects what goes to otel.Handle until the test ends.
func handleErrors(t *testing.T) (handled func() []error) {
	var mu sync.Mutex
	var errs []error
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	}))
	t.Cleanup(func() { otel.SetErrorHandler(before) })
	return func() []error {
		mu.Lock()
		defer mu.Unlock()
		return errs
	}
}

// Recording to the metrics of a call that no trace knows of allocates nothing; an SDK without a reader drops what it is
// given.
func TestMetricsAloneAllocateNothing(t *testing.T) {
	r := newRig(t, func(c *otelres.Config) { c.TracerProvider = tracenoop.NewTracerProvider() })
	users := r.pipeline("users.get", events.TypeRetry, events.TypeTimeout)
	retry, timeout := layer(users, events.TypeRetry), layer(users, events.TypeTimeout)
	ctx := context.Background()
	call := func() {
		var ends events.Ends[events.ExecutionFinished]
		meta := events.Meta{Source: users}
		ctx := r.bus.Execution.Begin(ctx, events.ExecutionStarted{Meta: meta}, &ends)
		var attempt events.Ends[events.AttemptFinished]
		r.bus.Attempt.Begin(ctx, events.AttemptStarted{Meta: meta, Kind: events.AttemptInitial}, &attempt)
		attempt.Finish(events.AttemptFinished{Meta: meta, Kind: events.AttemptInitial, Outcome: events.OutcomeSuccess, Duration: time.Second})
		r.bus.RetryStopped.Publish(ctx, events.RetryStopped{Meta: events.Meta{Source: retry}, Reason: events.ReasonExhausted})
		r.bus.TimedOut.Publish(ctx, events.TimedOut{Meta: events.Meta{Source: timeout}})
		ends.Finish(events.ExecutionFinished{Meta: meta, Outcome: events.OutcomeSuccess, Attempts: 1, Duration: time.Second, Backoff: 1, Queued: 1})
	}
	call()
	if n := testing.AllocsPerRun(100, call); n != 0 {
		t.Errorf("%v allocations a call, want 0", n)
	}
}

// In a trace of the caller's, what its exemplars need is a call and its end for the execution, and nothing for an attempt
// that is not measured.
func TestExemplarsAllocateForWhatIsMeasured(t *testing.T) {
	r := newRig(t, func(c *otelres.Config) {
		c.TracerProvider, c.MeterProvider = tracenoop.NewTracerProvider(), sdkmetric.NewMeterProvider()
	})
	ctx, caller := r.tracers.Tracer("test").Start(context.Background(), "caller")
	defer caller.End()
	for _, c := range []struct {
		layers []string
		want   float64
	}{{nil, 2}, {[]string{events.TypeRetry}, 4}} {
		s := r.pipeline("users.get", c.layers...)
		if n := testing.AllocsPerRun(100, func() { observedCallIn(ctx, r.bus, s) }); n != c.want {
			t.Errorf("%v: %v allocations, want %v", c.layers, n, c.want)
		}
	}
}

// Spans cost what the same calls to the SDK cost, and four small allocations: a call and its end, for each interval.
func TestSpansAllocateLittleMoreThanTheSDK(t *testing.T) {
	tracers := sdktrace.NewTracerProvider()
	r := newRig(t, func(c *otelres.Config) { c.TracerProvider, c.MeterProvider = tracers, sdkmetric.NewMeterProvider() })
	users := r.pipeline("users.get", events.TypeRetry)
	adapted := testing.AllocsPerRun(100, func() { observedCall(r.bus, users) })
	bare := testing.AllocsPerRun(100, func() { bareCall(tracers.Tracer("bare"), nil) })
	if adapted > bare+4 {
		t.Errorf("%v allocations, want at most %v and 4", adapted, bare)
	}
}

func observedCall(bus *events.Bus, s *events.Source) { observedCallIn(context.Background(), bus, s) }

func observedCallIn(ctx context.Context, bus *events.Bus, s *events.Source) {
	meta := events.Meta{Source: s, Attempt: 1}
	var ends events.Ends[events.ExecutionFinished]
	ctx = bus.Execution.Begin(ctx, events.ExecutionStarted{Meta: meta}, &ends)
	var attempt events.Ends[events.AttemptFinished]
	bus.Attempt.Begin(ctx, events.AttemptStarted{Meta: meta, Kind: events.AttemptInitial}, &attempt)
	attempt.Finish(events.AttemptFinished{Meta: meta, Kind: events.AttemptInitial, Outcome: events.OutcomeSuccess, Duration: time.Millisecond})
	ends.Finish(events.ExecutionFinished{Meta: meta, Outcome: events.OutcomeSuccess, Attempts: 1, Duration: time.Millisecond})
}
