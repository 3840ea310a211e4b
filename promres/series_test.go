package promres

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
)

// PROM-01
func TestCountersOverClosedLabelsStartAtZero(t *testing.T) {
	r := newRig(t, Config{})
	r.pipeline("users", events.TypeSingleflight, events.TypeFallback, events.TypeBulkhead, events.TypeTimeout, events.TypeHedge,
		events.TypeRetry, events.TypeBreaker)
	r.breaker("db")
	got := r.scrape()
	zero := func(format string, args ...any) {
		t.Helper()
		name := fmt.Sprintf(format, args...)
		if v, ok := got[name]; !ok || v != 0 {
			t.Errorf("%s = %v, %v, want 0 from the start", name, v, ok)
		}
	}
	for _, o := range events.Outcomes() {
		zero(`executions_total{outcome=%q,pipeline_name="users"}`, o)
	}
	for _, o := range events.AttemptOutcomes() {
		for _, k := range events.AttemptKinds() {
			zero(`attempts_total{attempt_kind=%q,outcome=%q,pipeline_name="users"}`, k, o)
		}
	}
	zero(`execution_active{pipeline_name="users"}`)
	zero(`execution_wait_time_seconds_total{pipeline_name="users",wait_kind="backoff"}`)
	zero(`execution_wait_time_seconds_total{pipeline_name="users",wait_kind="queue"}`)
	for _, reason := range events.StopReasons() {
		zero(`retry_stops_total{pipeline_name="users",reason=%q}`, reason)
	}
	for _, typ := range []string{events.TypeBulkhead, events.TypeBreaker} {
		for _, reason := range events.RejectionReasons(typ) {
			zero(`rejections_total{layer_name=%q,pipeline_name="users",reason=%q}`, typ, reason)
		}
	}
	zero(`timeouts_total{layer_name="timeout",pipeline_name="users"}`)
	for _, o := range []events.Outcome{events.OutcomeFallback, events.OutcomeFailure} {
		zero(`fallbacks_total{outcome=%q,pipeline_name="users"}`, o)
	}
	for _, role := range events.FlightRoles() {
		zero(`singleflight_calls_total{pipeline_name="users",singleflight_role=%q}`, role)
	}
	zero(`hedge_wins_total{pipeline_name="users"}`)
	zero(`hedge_denials_total{pipeline_name="users"}`)
	for _, of := range []string{"outbox", "github.com/telltale-go/telltale/promres"} {
		zero(`bus_dropped_events_total{bus_subscriber=%q}`, of)
		zero(`bus_handler_panics_total{bus_subscriber=%q}`, of)
	}
	for _, tr := range events.Transitions() {
		zero(`circuit_breaker_transitions_total{circuit_breaker_state=%q,layer_name="db",reason=%q}`, tr.To, tr.Reason)
	}
	for _, metric := range []string{"attempt_failures_total", "execution_duration_seconds", "attempt_duration_seconds", "execution_attempts"} {
		if names := r.named(metric); len(names) != 0 {
			t.Errorf("%v exist before their first use", names)
		}
	}
}

// PROM-01: of a source that existed before the adapter, too.
func TestSeriesOfEarlierSourcesAreThere(t *testing.T) {
	r := newRig(t, Config{})
	r.detach()
	r.pipeline("early")
	detach := MustAttach(r.bus, Config{Registerer: r.reg})
	defer detach()
	r.want(map[string]float64{`executions_total{outcome="success",pipeline_name="early"}`: 0})
}

// PROM-01
func TestSeriesVanishWithTheirSource(t *testing.T) {
	r := newRig(t, Config{})
	before := r.scrape()
	p := r.pipeline("users", events.TypeRetry, events.TypeTimeout, events.TypeBreaker)
	b := r.breaker("db")
	l := r.limiter("pool", events.LimiterReading{Limit: 3})
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeFailure, Duration: time.Second},
		failed(events.AttemptInitial, time.Second, errBoom), failed(events.AttemptRetry, time.Second, errBoom))
	r.bus.CallRejected.Publish(context.Background(), events.CallRejected{Meta: events.Meta{Source: b.source}, Reason: events.ReasonOpen})
	if n := len(r.scrape()); n < 50 {
		t.Fatalf("only %d series", n)
	}
	r.bus.Remove(p)
	for name := range r.scrape() {
		if strings.Contains(name, "users") {
			t.Errorf("%s outlives its pipeline", name)
		}
	}
	r.bus.Remove(b.source)
	r.bus.Remove(l)
	if after := r.scrape(); len(after) != len(before) {
		t.Errorf("%d series are left, want %d: %v", len(after), len(before), after)
	}
}

// BUS-10: a source that is gone makes no series any more, whatever is published in its name.
func TestEventsOfARemovedSourceAreIgnored(t *testing.T) {
	r := newRig(t, Config{})
	p, b := r.pipeline("users", events.TypeRetry), r.breaker("db")
	var running events.Ends[events.ExecutionFinished]
	r.bus.Execution.Begin(t.Context(), events.ExecutionStarted{Meta: events.Meta{Source: p}}, &running)
	r.bus.Remove(p)
	r.bus.Remove(b.source)
	running.Finish(events.ExecutionFinished{Outcome: events.OutcomeSuccess, Attempts: 1})
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeFailure}, failed(events.AttemptInitial, 1, errBoom))
	r.bus.RetryStopped.Publish(t.Context(), events.RetryStopped{Meta: events.Meta{Source: p.Layers()[0]}, Reason: events.ReasonExhausted})
	r.bus.BreakerStateChanged.Publish(t.Context(), events.BreakerStateChanged{Meta: events.Meta{Source: b.source}, To: events.StateOpen})
	call(r.bus, nil, events.ExecutionFinished{Outcome: events.OutcomeFailure})
	if left := ofSources(r.scrape()); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// PROM-01, BUS-10: a pipeline that is dropped without being closed.
func TestSeriesVanishWithACollectedSource(t *testing.T) {
	r := newRig(t, Config{})
	func() {
		p := r.bus.NewSource(events.SourceSpec{Pipeline: "users", Type: events.TypePipeline})
		call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, succeeded(events.AttemptInitial, 1))
	}()
	if len(r.named("execution_attempts")) == 0 {
		t.Fatal("there is no series to vanish")
	}
	for range 1000 {
		runtime.GC()
		if len(r.named("executions_total")) == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Error("the series are still there after 1000 collections: something holds the source")
}

// PROM-01: histograms appear at their first use, with the label sets that were used.
func TestHistogramsAppearAtFirstUse(t *testing.T) {
	r := newRig(t, Config{})
	p := r.pipeline("users", events.TypeRetry)
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, failed(events.AttemptInitial, 1, errBoom), succeeded(events.AttemptRetry, 1))
	r.want(map[string]float64{
		`execution_duration_seconds{outcome="success",pipeline_name="users"}`: 1,
		`execution_duration_seconds{outcome="failure",pipeline_name="users"}`: -1,
		`execution_attempts{outcome="success",pipeline_name="users"}`:         1,
		`execution_attempts{outcome="failure",pipeline_name="users"}`:         -1,
		`attempt_duration_seconds{outcome="success",pipeline_name="users"}`:   1,
		`attempt_duration_seconds{outcome="failure",pipeline_name="users"}`:   1,
		`attempt_failures_total{error_type="_OTHER",pipeline_name="users"}`:   1,
	})
}

// TELEMETRY: attempts' durations only where a second attempt is possible, and what Config.Durations says.
func TestDurationsAreThoseAskedFor(t *testing.T) {
	for _, c := range []struct {
		durations          Durations
		layers             []string
		execution, attempt int
	}{
		{0, []string{events.TypeRetry}, 1, 1},
		{DurationsAll, []string{events.TypeTimeout, events.TypeRetry}, 1, 1},
		{DurationsAll, []string{events.TypeTimeout}, 1, 0},
		{DurationsExecutions, []string{events.TypeRetry}, 1, 0},
		{DurationsNone, []string{events.TypeRetry}, 0, 0},
	} {
		r := newRig(t, Config{Durations: c.durations})
		p := r.pipeline("users", c.layers...)
		call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, succeeded(events.AttemptInitial, 1))
		if n := len(r.named("execution_duration_seconds")); n != c.execution {
			t.Errorf("%s, %v: %d series of executions' durations, want %d", c.durations, c.layers, n, c.execution)
		}
		if n := len(r.named("attempt_duration_seconds")); n != c.attempt {
			t.Errorf("%s, %v: %d series of attempts' durations, want %d", c.durations, c.layers, n, c.attempt)
		}
		r.want(map[string]float64{
			`executions_total{outcome="success",pipeline_name="users"}`:   1,
			`execution_attempts{outcome="success",pipeline_name="users"}`: 1,
		})
	}
}

// BUS-11
func TestNestedEventsAreIgnored(t *testing.T) {
	r := newRig(t, Config{})
	p := r.pipeline("users", events.TypeRetry, events.TypeTimeout, events.TypeBulkhead)
	b := r.breaker("db")
	before := r.scrape()
	ctx := context.Background()
	nested := func(s *events.Source) events.Meta { return events.Meta{Source: s, Nested: true} }
	var ends events.Ends[events.ExecutionFinished]
	r.bus.Execution.Begin(ctx, events.ExecutionStarted{Meta: nested(p)}, &ends)
	var attemptEnds events.Ends[events.AttemptFinished]
	r.bus.Attempt.Begin(ctx, events.AttemptStarted{Meta: nested(p)}, &attemptEnds)
	attemptEnds.Finish(events.AttemptFinished{Meta: nested(p), Outcome: events.OutcomeSuccess})
	ends.Finish(events.ExecutionFinished{Meta: nested(p), Outcome: events.OutcomeSuccess})
	r.bus.RetryStopped.Publish(ctx, events.RetryStopped{Meta: nested(p.Layers()[0]), Reason: events.ReasonExhausted})
	r.bus.TimedOut.Publish(ctx, events.TimedOut{Meta: nested(p.Layers()[1])})
	r.bus.CallRejected.Publish(ctx, events.CallRejected{Meta: nested(p.Layers()[2]), Reason: events.ReasonFull})
	r.bus.BreakerStateChanged.Publish(ctx, events.BreakerStateChanged{Meta: nested(b.source), To: events.StateOpen, Reason: events.ReasonRatio})
	after := r.scrape()
	if len(after) != len(before) {
		t.Errorf("%d series, want %d", len(after), len(before))
	}
	for name, v := range after {
		if v != before[name] {
			t.Errorf("%s = %v, want %v", name, v, before[name])
		}
	}
}

func TestEveryEventCounts(t *testing.T) {
	r := newRig(t, Config{})
	p := r.pipeline("users", events.TypeRetry, events.TypeTimeout, events.TypeBulkhead)
	b := r.breaker("db")
	ctx := context.Background()
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeTimeout, Backoff: 1500 * time.Millisecond, Queued: 250 * time.Millisecond},
		failed(events.AttemptInitial, 1, classed("busy")),
		events.AttemptFinished{Kind: events.AttemptRetry, Outcome: events.OutcomeTimeout, Err: context.DeadlineExceeded},
		events.AttemptFinished{Kind: events.AttemptRetry, Outcome: events.OutcomeCanceled, Err: context.Canceled})
	r.bus.RetryStopped.Publish(ctx, events.RetryStopped{Meta: events.Meta{Source: p.Layers()[0]}, Reason: events.ReasonDeadline})
	r.bus.TimedOut.Publish(ctx, events.TimedOut{Meta: events.Meta{Source: p.Layers()[1]}})
	r.bus.CallRejected.Publish(ctx, events.CallRejected{Meta: events.Meta{Source: p.Layers()[2]}, Reason: events.ReasonFull})
	r.bus.CallRejected.Publish(ctx, events.CallRejected{Meta: events.Meta{Source: b.source}, Reason: events.ReasonOpen})
	r.bus.BreakerStateChanged.Publish(ctx, events.BreakerStateChanged{Meta: events.Meta{Source: b.source}, To: events.StateOpen, Reason: events.ReasonRatio})
	r.want(map[string]float64{
		`executions_total{outcome="timeout",pipeline_name="users"}`:                                      1,
		`execution_wait_time_seconds_total{pipeline_name="users",wait_kind="backoff"}`:                   1.5,
		`execution_wait_time_seconds_total{pipeline_name="users",wait_kind="queue"}`:                     0.25,
		`attempts_total{attempt_kind="initial",outcome="failure",pipeline_name="users"}`:                 1,
		`attempts_total{attempt_kind="retry",outcome="timeout",pipeline_name="users"}`:                   1,
		`attempts_total{attempt_kind="retry",outcome="canceled",pipeline_name="users"}`:                  1,
		`attempt_failures_total{error_type="busy",pipeline_name="users"}`:                                1,
		`attempt_failures_total{error_type="timeout",pipeline_name="users"}`:                             1,
		`attempt_failures_total{error_type="canceled",pipeline_name="users"}`:                            -1,
		`retry_stops_total{pipeline_name="users",reason="deadline"}`:                                     1,
		`timeouts_total{layer_name="timeout",pipeline_name="users"}`:                                     1,
		`rejections_total{layer_name="bulkhead",pipeline_name="users",reason="full"}`:                    1,
		`rejections_total{layer_name="db",pipeline_name="",reason="open"}`:                               1,
		`circuit_breaker_transitions_total{circuit_breaker_state="open",layer_name="db",reason="ratio"}`: 1,
	})
}

func TestActiveCountsWhatRuns(t *testing.T) {
	r := newRig(t, Config{})
	p := r.pipeline("users")
	var one, two events.Ends[events.ExecutionFinished]
	active := func(n float64) {
		t.Helper()
		r.want(map[string]float64{`execution_active{pipeline_name="users"}`: n})
	}
	r.bus.Execution.Begin(context.Background(), events.ExecutionStarted{Meta: events.Meta{Source: p}}, &one)
	r.bus.Execution.Begin(context.Background(), events.ExecutionStarted{Meta: events.Meta{Source: p}}, &two)
	active(2)
	one.Finish(events.ExecutionFinished{})
	active(1)
	two.Finish(events.ExecutionFinished{})
	active(0)
}
