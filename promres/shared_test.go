package promres

import (
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
)

// BUS-10: two pipelines of one name share their series, and the first to go takes none of them along.
func TestEqualNamesShareSeries(t *testing.T) {
	r := newRig(t, Config{})
	one, two := r.pipeline("users", events.TypeRetry, events.TypeTimeout), r.pipeline("users", events.TypeRetry, events.TypeBulkhead)
	both := events.ExecutionFinished{Outcome: events.OutcomeSuccess}
	call(r.bus, one, both, succeeded(events.AttemptInitial, 1))
	call(r.bus, two, both, succeeded(events.AttemptInitial, 1))
	r.want(map[string]float64{
		`executions_total{outcome="success",pipeline_name="users"}`:                      2,
		`attempts_total{attempt_kind="initial",outcome="success",pipeline_name="users"}`: 2,
		`execution_duration_seconds{outcome="success",pipeline_name="users"}`:            2,
	})
	r.bus.Remove(one)
	r.want(map[string]float64{
		`executions_total{outcome="success",pipeline_name="users"}`:                   2,
		`execution_duration_seconds{outcome="success",pipeline_name="users"}`:         2,
		`retry_stops_total{pipeline_name="users",reason="exhausted"}`:                 0,
		`timeouts_total{layer_name="timeout",pipeline_name="users"}`:                  -1,
		`rejections_total{layer_name="bulkhead",pipeline_name="users",reason="full"}`: 0,
	})
	call(r.bus, two, both, succeeded(events.AttemptInitial, 1))
	r.want(map[string]float64{`executions_total{outcome="success",pipeline_name="users"}`: 3})
	r.bus.Remove(two)
	r.want(map[string]float64{`executions_total{outcome="success",pipeline_name="users"}`: -1})
}

// A call that outlives its pipeline is still taken off the calls that are active under the name.
func TestActiveFallsWhenThePipelineIsGone(t *testing.T) {
	r := newRig(t, Config{})
	one := r.pipeline("users")
	r.pipeline("users")
	var ends events.Ends[events.ExecutionFinished]
	r.bus.Execution.Begin(t.Context(), events.ExecutionStarted{Meta: events.Meta{Source: one}}, &ends)
	r.bus.Remove(one)
	r.want(map[string]float64{`execution_active{pipeline_name="users"}`: 1})
	ends.Finish(events.ExecutionFinished{Meta: events.Meta{Source: one}, Outcome: events.OutcomeSuccess})
	r.want(map[string]float64{`execution_active{pipeline_name="users"}`: 0})
}

// PIPE-23: breakers of one name are counted by state; nothing is last-wins, and the scrape stays valid.
func TestBreakersOfOneNameAreCountedByState(t *testing.T) {
	r := newRig(t, Config{})
	one, two := r.breaker("db"), r.breaker("db")
	changed := time.Unix(2000, 0)
	two.set(func(b *events.BreakerReading) {
		b.State, b.Calls, b.FailureRatio, b.Since, b.NextProbe = events.StateOpen, 8, 0.5, changed, changed.Add(time.Second)
	})
	one.set(func(b *events.BreakerReading) { b.Calls, b.FailureRatio, b.Since = 2, 0.25, time.Unix(1000, 0) })
	r.want(map[string]float64{
		`circuit_breaker_state{circuit_breaker_state="closed",layer_name="db"}`: 1,
		`circuit_breaker_state{circuit_breaker_state="open",layer_name="db"}`:   1,
		`circuit_breaker_window_calls{layer_name="db"}`:                         10,
		`circuit_breaker_failure_ratio{layer_name="db"}`:                        0.5,
		`circuit_breaker_state_change_time_seconds{layer_name="db"}`:            2000,
		`circuit_breaker_next_probe_time_seconds{layer_name="db"}`:              2001,
	})
	r.bus.Remove(two.source)
	r.want(map[string]float64{
		`circuit_breaker_state{circuit_breaker_state="closed",layer_name="db"}`: 1,
		`circuit_breaker_state{circuit_breaker_state="open",layer_name="db"}`:   0,
		`circuit_breaker_failure_ratio{layer_name="db"}`:                        0.25,
	})
}

// The time in each state is a counter: it never falls while its series exists, or a rate over it would jump.
func TestStateTimeNeverFalls(t *testing.T) {
	r := newRig(t, Config{})
	const closed = `circuit_breaker_state_time_seconds_total{circuit_breaker_state="closed",layer_name="db"}`
	one, two := r.breaker("db"), r.breaker("db")
	spend := func(b *fakeBreaker, d time.Duration) {
		b.set(func(b *events.BreakerReading) { b.Spent[events.StateClosed] = d })
	}
	spend(one, 10*time.Second)
	spend(two, 5*time.Second)
	r.want(map[string]float64{closed: 15})
	r.bus.Remove(one.source)
	r.want(map[string]float64{closed: 15})
	spend(two, 6*time.Second)
	r.want(map[string]float64{closed: 16})
	three := r.breaker("db")
	r.want(map[string]float64{closed: 16})
	r.bus.Remove(two.source)
	r.bus.Remove(three.source)
	r.want(map[string]float64{closed: -1})
	four := r.breaker("db")
	spend(four, time.Second)
	r.want(map[string]float64{closed: 1})
}

func TestLimitersOfOneNameAddUp(t *testing.T) {
	r := newRig(t, Config{})
	one := r.limiter("pool", events.LimiterReading{Limit: 10, Usage: 7, Queued: 2})
	r.limiter("pool", events.LimiterReading{Limit: 5, Usage: 1})
	r.want(map[string]float64{`limiter_limit{layer_name="pool"}`: 15, `limiter_usage{layer_name="pool"}`: 8, `limiter_queued{layer_name="pool"}`: 2})
	r.bus.Remove(one)
	r.want(map[string]float64{`limiter_limit{layer_name="pool"}`: 5, `limiter_usage{layer_name="pool"}`: 1, `limiter_queued{layer_name="pool"}`: 0})
}
