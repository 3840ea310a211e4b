package otelres_test

import (
	"context"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func deltas(sdkmetric.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }

// keepsOutcome is a view that makes one series of those of all pipelines.
var keepsOutcome = sdkmetric.NewView(sdkmetric.Instrument{Name: executions},
	sdkmetric.Stream{AttributeFilter: attribute.NewAllowKeysFilter("resilience.outcome")})

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
