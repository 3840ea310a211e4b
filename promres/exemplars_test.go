package promres

import (
	"context"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/telltale-go/telltale/events"
)

type spanKey struct{}

// spanOf stands for OpenTelemetry: the span is the text in the context.
func spanOf(ctx context.Context) (traceID, spanID string, ok bool) {
	span, ok := ctx.Value(spanKey{}).(string)
	return "trace-" + span, span, ok
}

// exemplars returns the labels of the exemplars of a histogram's classic buckets.
func (r *rig) exemplars(name string) (all []string) {
	r.t.Helper()
	families, err := r.reg.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "resilience_"+name {
			continue
		}
		for _, m := range f.Metric {
			for _, b := range m.Histogram.Bucket {
				all = append(all, exemplarLabels(b.Exemplar)...)
			}
		}
	}
	return all
}

func exemplarLabels(e *dto.Exemplar) (all []string) {
	for _, l := range e.GetLabel() {
		all = append(all, l.GetName()+"="+l.GetValue())
	}
	return all
}

// spans makes spans as a tracing adapter does: it is attached behind promres, and derives the context.
func spans(bus *events.Bus) {
	bus.Execution.Observe(func(ctx context.Context, _ events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
		return context.WithValue(ctx, spanKey{}, "execution"), nil
	})
	bus.Attempt.Observe(func(ctx context.Context, _ events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
		return context.WithValue(ctx, spanKey{}, "attempt"), nil
	})
}

// TELEMETRY: durations lead to the trace of a call whose span is sampled.
func TestDurationsCarryExemplarsOfTheSpan(t *testing.T) {
	r := newRig(t, Config{Trace: spanOf})
	spans(r.bus)
	p := r.pipeline("users", events.TypeRetry)
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess, Duration: time.Second}, succeeded(events.AttemptInitial, time.Second))
	for metric, span := range map[string]string{"execution_duration_seconds": "execution", "attempt_duration_seconds": "attempt"} {
		want := "span_id=" + span + " trace_id=trace-" + span
		got := r.exemplars(metric)
		if len(got) != 2 || !strings.Contains(want, got[0]) || !strings.Contains(want, got[1]) || got[0] == got[1] {
			t.Errorf("%s has the exemplars %v, want %s", metric, got, want)
		}
	}
	r.want(map[string]float64{
		`execution_active{pipeline_name="users"}`:                                        0,
		`executions_total{outcome="success",pipeline_name="users"}`:                      1,
		`attempts_total{attempt_kind="initial",outcome="success",pipeline_name="users"}`: 1,
	})
}

// What has no sampled span, or a function that answers what no exemplar can hold, costs the exemplar and never the count.
func TestCallsCountWithoutExemplars(t *testing.T) {
	for name, trace := range map[string]func(context.Context) (string, string, bool){
		"no function": nil,
		"no span":     func(context.Context) (string, string, bool) { return "", "", false },
		"too long":    func(context.Context) (string, string, bool) { return strings.Repeat("x", 200), "y", true },
		"not UTF-8":   func(context.Context) (string, string, bool) { return "\xff", "y", true },
		"panics":      func(context.Context) (string, string, bool) { panic("x") },
	} {
		r := newRig(t, Config{Trace: trace})
		p := r.pipeline("users", events.TypeRetry)
		call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, succeeded(events.AttemptInitial, 1))
		if got := r.exemplars("execution_duration_seconds"); len(got) != 0 {
			t.Errorf("%s: exemplars %v", name, got)
		}
		r.want(map[string]float64{
			`execution_active{pipeline_name="users"}`:                                        0,
			`executions_total{outcome="success",pipeline_name="users"}`:                      1,
			`execution_duration_seconds{outcome="success",pipeline_name="users"}`:            1,
			`attempts_total{attempt_kind="initial",outcome="success",pipeline_name="users"}`: 1,
			`attempt_duration_seconds{outcome="success",pipeline_name="users"}`:              1,
		})
		if n := r.bus.HandlerPanics(); (name == "panics") != (n == 2) || name != "panics" && n != 0 {
			t.Errorf("%s: %d panics", name, n)
		}
	}
}

// Exemplars are looked for only where durations are measured.
func TestNobodyAsksForTheTraceWithoutDurations(t *testing.T) {
	r := newRig(t, Config{Durations: DurationsNone, Trace: func(context.Context) (string, string, bool) {
		t.Error("asked for the trace")
		return "", "", false
	}})
	p := r.pipeline("users", events.TypeRetry)
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, succeeded(events.AttemptInitial, 1))
	r.want(map[string]float64{`executions_total{outcome="success",pipeline_name="users"}`: 1})
	gone := r.pipeline("gone")
	r.bus.Remove(gone)
	call(r.bus, gone, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, succeeded(events.AttemptInitial, 1))
}
