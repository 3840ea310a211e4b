package otelres_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"go.opentelemetry.io/otel"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

func TestAttachRefusesWhatCannotWork(t *testing.T) {
	for want, attach := range map[string]func() (func(), error){
		"otelres: nil bus": func() (func(), error) { return otelres.Attach(nil, otelres.Config{}) },
		"otelres: Config.TracerProvider is a nil *trace.TracerProvider: leave the field out for the global one": func() (func(), error) {
			return otelres.Attach(events.NewBus(), otelres.Config{TracerProvider: (*sdktrace.TracerProvider)(nil)})
		},
		"otelres: Config.MeterProvider is a nil *metric.MeterProvider: leave the field out for the global one": func() (func(), error) {
			return otelres.Attach(events.NewBus(), otelres.Config{MeterProvider: (*sdkmetric.MeterProvider)(nil)})
		},
		"otelres: Config.Durations = 9: want DurationsAll, DurationsExecutions or DurationsNone": func() (func(), error) {
			return otelres.Attach(events.NewBus(), otelres.Config{Durations: 9})
		},
		"otelres: Config.Keys = -1: want 0 (none) to 10000": func() (func(), error) {
			return otelres.Attach(events.NewBus(), otelres.Config{Keys: -1})
		},
		"otelres: Config.Keys = 10001: want 0 (none) to 10000": func() (func(), error) {
			return otelres.Attach(events.NewBus(), otelres.Config{Keys: 10_001})
		},
	} {
		detach, err := attach()
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		if detach != nil {
			t.Errorf("%s: detach is not nil", want)
		}
	}
}

func TestMustAttachPanicsWithTheError(t *testing.T) {
	defer func() {
		if err, _ := recover().(error); err == nil || err.Error() != "otelres: nil bus" {
			t.Errorf("panicked with %v, want the error", err)
		}
	}()
	otelres.MustAttach(nil, otelres.Config{})
}

// PROM-03: a second Attach of the same is refused and counts nothing twice; detach makes room.
func TestAttachingTheSameTwiceIsRefused(t *testing.T) {
	r := newRig(t)
	same := otelres.Config{TracerProvider: r.tracers, MeterProvider: r.meters}
	otherTracers, otherMeters := sdktrace.NewTracerProvider(), sdkmetric.NewMeterProvider()
	for field, cfg := range map[string]otelres.Config{
		"TracerProvider": {TracerProvider: r.tracers, MeterProvider: otherMeters},
		"MeterProvider":  {TracerProvider: otherTracers, MeterProvider: r.meters},
	} {
		_, err := otelres.Attach(r.bus, cfg)
		if !errors.Is(err, otelres.ErrAttached) || !strings.Contains(err.Error(), "Config."+field+" ") {
			t.Errorf("the same %s: error %v, want ErrAttached that names it", field, err)
		}
	}
	users := r.pipeline("users.get")
	r.succeed(context.Background(), users)
	if got := r.value("resilience.executions", "resilience.pipeline.name", "users.get", "resilience.outcome", "success"); got != 1 {
		t.Errorf("executions = %v, want 1", got)
	}
	for name, attach := range map[string]func() (func(), error){
		"another bus": func() (func(), error) { return otelres.Attach(events.NewBus(), same) },
		"other providers": func() (func(), error) {
			return otelres.Attach(r.bus, otelres.Config{TracerProvider: otherTracers, MeterProvider: otherMeters})
		},
		"providers of nobody": func() (func(), error) {
			return otelres.Attach(r.bus, otelres.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()})
		},
	} {
		detach, err := attach()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		detach()
	}
	r.detach()
	detach, err := otelres.Attach(r.bus, same)
	if err != nil {
		t.Fatalf("after detach: %v", err)
	}
	detach()
}

// PROM-03: the global provider before an SDK is set, that SDK, and the global provider after it are one.
func TestTheGlobalProviderIsRefusedUnderEachOfItsNames(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	bus, meters := events.NewBus(), metricnoop.NewMeterProvider()
	global := otelres.Config{MeterProvider: meters}
	detach := otelres.MustAttach(bus, global)

	before := otel.GetTracerProvider()
	sdk := sdktrace.NewTracerProvider()
	otel.SetTracerProvider(sdk)
	for name, cfg := range map[string]otelres.Config{
		"left out":  global,
		"given":     {TracerProvider: sdk, MeterProvider: meters},
		"as it was": {TracerProvider: before, MeterProvider: meters},
	} {
		if _, err := otelres.Attach(bus, cfg); !errors.Is(err, otelres.ErrAttached) {
			t.Errorf("%s: error %v, want ErrAttached", name, err)
		}
	}
	detach()
	detach = otelres.MustAttach(bus, otelres.Config{TracerProvider: sdk, MeterProvider: meters})
	defer detach()
	if _, err := otelres.Attach(bus, global); !errors.Is(err, otelres.ErrAttached) {
		t.Errorf("left out after given: error %v, want ErrAttached", err)
	}
}

// PROM-03: two adapters to two SDKs count everything once each.
func TestTwoSDKsOnOneBus(t *testing.T) {
	r := newRig(t)
	reader := sdkmetric.NewManualReader()
	detach := otelres.MustAttach(r.bus, otelres.Config{TracerProvider: sdktrace.NewTracerProvider(),
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
	defer detach()
	users := r.pipeline("users.get")
	r.succeed(context.Background(), users)
	set := setOf("resilience.pipeline.name", "users.get", "resilience.outcome", "success")
	if got := seriesOf(r.collect()["resilience.executions"])[set]; got != 1 {
		t.Errorf("the first counted %v executions, want 1", got)
	}
	if got := seriesOf(collect(t, reader)["resilience.executions"])[set]; got != 1 {
		t.Errorf("the second counted %v executions, want 1", got)
	}
}

func TestDetachRemovesWhatWasRegisteredAndEndsWhatHasBegun(t *testing.T) {
	r := newRig(t)
	users := r.pipeline("users.get", events.TypeTimeout)
	r.breaker("db", func() events.BreakerReading { return events.BreakerReading{State: events.StateClosed} })
	r.execution(context.Background(), users, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
		r.attempt(ctx, users, 1, 0, events.AttemptFinished{Outcome: events.OutcomeSuccess}, func(context.Context) { r.detach() })
		r.attempt(ctx, users, 2, 0, events.AttemptFinished{Outcome: events.OutcomeSuccess}, nil)
		r.bus.TimedOut.Publish(ctx, events.TimedOut{Meta: events.Meta{Source: layer(users, events.TypeTimeout)}})
	})
	r.detach()

	r.ended("users.get")
	if n := attributesOf(r.ended("users.get attempt"))["resilience.attempt.number"]; n != "1" {
		t.Errorf("the attempt's span is number %s, want the one begun before", n)
	}
	if r.bus.CallsHeard() || r.bus.BreakerStateChanged.Heard() {
		t.Error("the bus is still heard")
	}
	all := r.collect()
	if got := seriesOf(all["resilience.executions"])[setOf("resilience.pipeline.name", "users.get", "resilience.outcome", "success")]; got != 1 {
		t.Errorf("executions = %v, want 1: it had begun", got)
	}
	for _, name := range []string{"resilience.circuit_breaker.state", "resilience.execution.active", "resilience.build.info"} {
		if s := seriesOf(all[name]); len(s) != 0 {
			t.Errorf("%s is still told: %v", name, s)
		}
	}
	if got := r.value("resilience.timeouts", "resilience.pipeline.name", "users.get", "resilience.layer.name", "timeout"); got != 0 {
		t.Errorf("timeouts = %v, want 0: it came after detach", got)
	}
}

// A bus that was not made by NewBus panics as it does for every subscriber, and leaves nothing behind.
func TestAttachToABusThatIsNone(t *testing.T) {
	cfg := otelres.Config{TracerProvider: sdktrace.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()}
	bus := new(events.Bus)
	for range 2 { // the second time it must not be taken for attached
		func() {
			defer func() {
				if v := recover(); v != "events: the Bus was not made by NewBus" {
					t.Errorf("panicked with %v", v)
				}
			}()
			_, err := otelres.Attach(bus, cfg)
			t.Errorf("returned %v", err)
		}()
	}
}

// BUS-11
func TestAttachToTheBusThatHearsNothing(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	detach := otelres.MustAttach(events.Off(), otelres.Config{TracerProvider: sdktrace.NewTracerProvider(),
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
	defer detach()
	s := events.Off().NewSource(pipelineSpec("exporter"))
	observedCall(events.Off(), s)
	if got := seriesOf(collect(t, reader)["resilience.executions"]); len(got) != 0 {
		t.Errorf("executions = %v, want none", got)
	}
}
