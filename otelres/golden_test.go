package otelres_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// OTEL-04
func TestGoldenSpans(t *testing.T) {
	r := newRig(t)
	r.story()
	compare(t, "spans.golden", spansText(r.spans.Ended()))
}

// OTEL-04
func TestGoldenMetrics(t *testing.T) {
	r := newRig(t, func(c *otelres.Config) { c.Keys = 1 })
	r.story()
	r.keyed()
	compare(t, "metrics.golden", metricsText(t, r.collect()))
}

// keyed makes a breaker and a limiter for each of two keys, of which one is told apart.
func (r *rig) keyed() {
	breaker := func(state events.State) *events.BreakerReading { return &events.BreakerReading{State: state} }
	hosts := r.source(events.SourceSpec{Layer: "hosts", Type: events.TypeBreaker, Keys: slices.Values([]events.KeyReading{
		{Key: "a.example", Breaker: breaker(events.StateOpen)}, {Key: "b.example", Breaker: breaker(events.StateClosed)},
		{Breaker: breaker(events.StateClosed)},
	})})
	r.source(events.SourceSpec{Layer: "tenants", Type: events.TypeBulkhead, Keys: slices.Values([]events.KeyReading{
		{Key: "acme", Limiter: &events.LimiterReading{Limit: 5, Usage: 5, Queued: 2}}, {Limiter: &events.LimiterReading{Limit: 5}},
	})})
	for range 3 {
		r.bus.CallRejected.Publish(context.Background(), events.CallRejected{Meta: events.Meta{Source: hosts, Key: "a.example"},
			Reason: events.ReasonOpen})
	}
}

// story publishes what two pipelines do. The first has five calls: healed by a retry, rejected, timed out, cancelled,
// failed.
func (r *rig) story() {
	r.profiles()
	db := r.breaker("users-db", func() events.BreakerReading {
		return events.BreakerReading{State: events.StateOpen, Since: time.Unix(1_000_000, 0), NextProbe: time.Unix(1_000_030, 500_000_000),
			Calls: 40, Failures: 24, FailureRatio: .6, Limit: .5, Cooldown: 30 * time.Second,
			Spent: [len(events.BreakerReading{}.Spent)]time.Duration{events.StateClosed: time.Hour, events.StateOpen: 90 * time.Second}}
	})
	pool := r.source(events.SourceSpec{Layer: "users-pool", Type: events.TypeBulkhead, Limiter: func() events.LimiterReading {
		return events.LimiterReading{Limit: 10, Usage: 7, Queued: 3}
	}})
	spec := pipelineSpec("users.get", events.TypeTimeout, events.TypeBulkhead, events.TypeRetry, events.TypeBreaker)
	spec.Layers[0].Settings = "after=2s"
	spec.Layers[1].Layer, spec.Layers[1].Shared = "users-pool", pool
	spec.Layers[3].Layer, spec.Layers[3].Shared = "users-db", db
	users := r.source(spec)
	of := func(s *events.Source, attempt int) events.Meta { return events.Meta{Source: s, Attempt: attempt} }
	timeout, retry, breaker := users.Layers()[0], users.Layers()[2], users.Layers()[3]
	ctx := context.Background()
	const ms = time.Millisecond

	r.execution(ctx, users, events.ExecutionFinished{Outcome: events.OutcomeSuccess, Attempts: 2, Duration: 350 * ms,
		Working: 100 * ms, Backoff: 250 * ms}, func(ctx context.Context) {
		r.attempt(ctx, users, 1, 0, events.AttemptFinished{Outcome: events.OutcomeFailure, Err: class("connection_refused"), Duration: 50 * ms}, nil)
		r.bus.RetryScheduled.Publish(ctx, events.RetryScheduled{Meta: of(retry, 1), Delay: 250 * ms, Err: class("connection_refused"), HintedByPeer: true})
		r.attempt(ctx, users, 2, 250*ms, events.AttemptFinished{Outcome: events.OutcomeSuccess, Duration: 50 * ms}, nil)
	})
	r.execution(ctx, users, events.ExecutionFinished{Outcome: events.OutcomeRejected, Reason: events.ReasonOpen, Layer: breaker,
		Err: class("circuit_breaker_open"), Queued: 2 * ms, Duration: 2 * ms}, func(ctx context.Context) {
		r.bus.BreakerStateChanged.Publish(ctx, events.BreakerStateChanged{Meta: of(db, 0), From: events.StateHalfOpen, To: events.StateOpen, Reason: events.ReasonProbeFailed})
		r.bus.CallRejected.Publish(ctx, events.CallRejected{Meta: of(breaker, 1), Reason: events.ReasonOpen})
		r.bus.RetryStopped.Publish(ctx, events.RetryStopped{Meta: of(retry, 1), Reason: events.ReasonNotRetryable})
	})
	r.execution(ctx, users, events.ExecutionFinished{Outcome: events.OutcomeTimeout, Layer: timeout, Err: class("timeout"),
		Attempts: 1, Duration: 2 * time.Second, Working: 2 * time.Second}, func(ctx context.Context) {
		r.attempt(ctx, users, 1, 0, events.AttemptFinished{Outcome: events.OutcomeTimeout, Err: class("timeout"), Duration: 2 * time.Second}, nil)
		r.bus.TimedOut.Publish(ctx, events.TimedOut{Meta: of(timeout, 1), Limit: 2 * time.Second})
	})
	r.execution(ctx, users, events.ExecutionFinished{Outcome: events.OutcomeCanceled, Err: context.Canceled, Attempts: 1, Duration: ms}, func(ctx context.Context) {
		r.attempt(ctx, users, 1, 0, events.AttemptFinished{Outcome: events.OutcomeCanceled, Err: context.Canceled, Duration: ms}, nil)
	})
	r.execution(ctx, users, events.ExecutionFinished{Outcome: events.OutcomeFailure, Reason: events.ReasonExhausted, Layer: retry,
		Err: class("503"), Attempts: 1, Duration: 4 * ms}, func(ctx context.Context) {
		r.attempt(ctx, users, 1, 0, events.AttemptFinished{Outcome: events.OutcomeFailure, Err: class("503"), Duration: 4 * ms}, nil)
		r.bus.RetryStopped.Publish(ctx, events.RetryStopped{Meta: of(retry, 1), Reason: events.ReasonExhausted})
	})
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if otelres.Update() {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has changed (go test ./otelres -run Golden -update):\n%s", path, got)
	}
}

// spansText writes spans as a tree, in the order of their starts.
func spansText(spans []sdktrace.ReadOnlySpan) string {
	slices.SortStableFunc(spans, func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	var b strings.Builder
	fmt.Fprintf(&b, "scope %s\n", spans[0].InstrumentationScope().Name)
	var write func(parent trace.SpanID, indent string)
	write = func(parent trace.SpanID, indent string) {
		for _, s := range spans {
			if s.Parent().SpanID() != parent {
				continue
			}
			fmt.Fprintf(&b, "%s%q %s %s %q\n", indent, s.Name(), s.SpanKind(), s.Status().Code, s.Status().Description)
			writeAttributes(&b, indent+"    ", s.Attributes())
			for _, l := range s.Links() {
				for place, other := range spans {
					if other.SpanContext().SpanID() == l.SpanContext.SpanID() {
						fmt.Fprintf(&b, "%s    link to %q, span %d\n", indent, other.Name(), place)
					}
				}
			}
			for _, e := range s.Events() {
				fmt.Fprintf(&b, "%s    event %s\n", indent, e.Name)
				writeAttributes(&b, indent+"        ", e.Attributes)
			}
			write(s.SpanContext().SpanID(), indent+"  ")
		}
	}
	write(trace.SpanID{}, "")
	return b.String()
}

func writeAttributes(b *strings.Builder, indent string, attributes []attribute.KeyValue) {
	set := attribute.NewSet(attributes...)
	for _, a := range set.ToSlice() {
		fmt.Fprintf(b, "%s%s = %s (%s)\n", indent, a.Key, a.Value.String(), a.Value.Type())
	}
}

// metricsText writes metrics in the order of the table, which must agree with what the SDK got.
func metricsText(t *testing.T, all map[string]metricdata.Metrics) string {
	var b strings.Builder
	for _, described := range otelres.Metrics() {
		m, ok := all[described.Name]
		if !ok {
			t.Errorf("%s is in the table and was not collected", described.Name)
			continue
		}
		delete(all, m.Name)
		fmt.Fprintf(&b, "%s %s unit=%q\n    %s\n", m.Name, kindOf(t, m), m.Unit, m.Description)
		if kind := string(described.Kind); !strings.HasPrefix(kindOf(t, m), kind) || m.Unit != described.Unit || m.Description != described.Doc {
			t.Errorf("%s is not as the table describes it", m.Name)
		}
		for _, line := range pointsText(t, m, described) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	for name := range all {
		t.Errorf("%s was collected and is not in the table", name)
	}
	return b.String()
}

func kindOf(t *testing.T, m metricdata.Metrics) string {
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		return sumKind(d.IsMonotonic)
	case metricdata.Sum[float64]:
		return sumKind(d.IsMonotonic)
	case metricdata.Gauge[int64], metricdata.Gauge[float64]:
		return "gauge"
	case metricdata.Histogram[int64]:
		return fmt.Sprint("histogram ", d.DataPoints[0].Bounds)
	case metricdata.Histogram[float64]:
		return fmt.Sprint("histogram ", d.DataPoints[0].Bounds)
	}
	t.Fatalf("%s is a %T", m.Name, m.Data)
	return ""
}

func sumKind(monotonic bool) string {
	if monotonic {
		return "counter"
	}
	return "up-down counter"
}

func pointsText(t *testing.T, m metricdata.Metrics, described otelres.Metric) []string {
	var lines []string
	add := func(set attribute.Set, format string, values ...any) {
		for _, a := range set.ToSlice() {
			if !slices.Contains(described.Attributes, string(a.Key)) {
				t.Errorf("%s has the attribute %s, which the table does not name", m.Name, a.Key)
			}
		}
		at := text(set)
		if m.Name == "resilience.build.info" {
			at = "resilience.version=?" // that of the test's binary
		}
		lines = append(lines, fmt.Sprintf("{%s} "+format, append([]any{at}, values...)...))
	}
	switch d := m.Data.(type) {
	case metricdata.Histogram[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, "count %d sum %d buckets %v", p.Count, p.Sum, p.BucketCounts)
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, "count %d sum %v buckets %v", p.Count, p.Sum, p.BucketCounts)
		}
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, "%d", p.Value)
		}
	case metricdata.Sum[float64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, "%v", p.Value)
		}
	case metricdata.Gauge[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, "%d", p.Value)
		}
	case metricdata.Gauge[float64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, "%.1f", p.Value)
		}
	}
	slices.Sort(lines)
	return lines
}
