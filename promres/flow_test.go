package promres

import (
	"context"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
)

// PROM-04: hedges, fallbacks and flights are counted by what their events say.
func TestHedgesFallbacksAndFlightsCount(t *testing.T) {
	r := newRig(t, Config{})
	p := r.pipeline("users", events.TypeSingleflight, events.TypeFallback, events.TypeHedge)
	publishFlow(r.bus, p, false)
	publishFlow(r.bus, p, true) // BUS-11: of a subscriber's own calls, which do not count
	r.want(map[string]float64{
		`hedge_wins_total{pipeline_name="users"}`:                                      1,
		`hedge_denials_total{pipeline_name="users"}`:                                   1,
		`fallbacks_total{outcome="fallback",pipeline_name="users"}`:                    2,
		`fallbacks_total{outcome="failure",pipeline_name="users"}`:                     1,
		`singleflight_calls_total{pipeline_name="users",singleflight_role="leader"}`:   1,
		`singleflight_calls_total{pipeline_name="users",singleflight_role="follower"}`: 3,
	})
	r.bus.Remove(p)
	publishFlow(r.bus, p, false)
	if left := ofSources(r.scrape()); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// publishFlow publishes one of each kind and a few more, as the layers do.
func publishFlow(bus *events.Bus, p *events.Source, nested bool) {
	ctx := context.Background()
	flight, fallback, hedge := p.Layers()[0], p.Layers()[1], p.Layers()[2]
	of := func(s *events.Source) events.Meta { return events.Meta{Source: s, Nested: nested} }
	bus.FlightJoined.Publish(ctx, events.FlightJoined{Meta: of(flight), Role: events.FlightLeader})
	for range 3 {
		bus.FlightJoined.Publish(ctx, events.FlightJoined{Meta: of(flight), Role: events.FlightFollower, LeaderContext: ctx})
	}
	for _, o := range []events.Outcome{events.OutcomeFallback, events.OutcomeFallback, events.OutcomeFailure} {
		bus.FallbackUsed.Publish(ctx, events.FallbackUsed{Meta: of(fallback), Outcome: o, Cause: errBoom})
	}
	for _, e := range []events.HedgeSettled{
		{Kind: events.AttemptHedge},               // a hedge won
		{Kind: events.AttemptHedge, Err: errBoom}, // all failed, a hedge last
		{Kind: events.AttemptInitial},
		{}, // the caller left
	} {
		e.Meta = of(hedge)
		bus.HedgeSettled.Publish(ctx, e)
	}
	bus.HedgeDenied.Publish(ctx, events.HedgeDenied{Meta: of(hedge), Reason: events.ReasonBudget})
}

// PROM-01, PROM-02: no series of what a pipeline cannot do.
func TestSeriesExistOnlyWhereThereIsSuchALayer(t *testing.T) {
	r := newRig(t, Config{})
	r.pipeline("plain", events.TypeTimeout)
	r.want(map[string]float64{
		`executions_total{outcome="success",pipeline_name="plain"}`:                      0,
		`executions_total{outcome="fallback",pipeline_name="plain"}`:                     -1,
		`attempts_total{attempt_kind="initial",outcome="success",pipeline_name="plain"}`: 0,
		`attempts_total{attempt_kind="retry",outcome="success",pipeline_name="plain"}`:   -1,
		`attempts_total{attempt_kind="hedge",outcome="success",pipeline_name="plain"}`:   -1,
	})
	for _, metric := range []string{"fallbacks_total", "hedge_wins_total", "hedge_denials_total", "singleflight_calls_total"} {
		if names := r.named(metric); len(names) != 0 {
			t.Errorf("%v exist without such a layer", names)
		}
	}
}

// TELEMETRY: a second attempt is possible where there is a Hedge, too.
func TestHedgedAttemptsHaveDurations(t *testing.T) {
	r := newRig(t, Config{})
	p := r.pipeline("users", events.TypeHedge)
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, succeeded(events.AttemptHedge, 1),
		events.AttemptFinished{Kind: events.AttemptInitial, Outcome: events.OutcomeCanceled, Duration: 1})
	r.want(map[string]float64{
		`attempt_duration_seconds{outcome="success",pipeline_name="users"}`:               1,
		`attempt_duration_seconds{outcome="canceled",pipeline_name="users"}`:              1,
		`attempts_total{attempt_kind="hedge",outcome="success",pipeline_name="users"}`:    1,
		`attempts_total{attempt_kind="initial",outcome="canceled",pipeline_name="users"}`: 1,
	})
	if names := r.named("attempt_failures_total"); len(names) != 0 {
		t.Errorf("a hedge's loser counts as a failure: %v", names)
	}
}

// PROM-01: budgets are read at the scrape; those of one name add up, and vanish with their source.
func TestBudgetsAreRead(t *testing.T) {
	r := newRig(t, Config{})
	budget := func(available int64) *events.Source {
		return r.keep(r.bus.NewSource(events.SourceSpec{Layer: "extra", Type: events.TypeRetryBudget,
			Budget: func() events.BudgetReading { return events.BudgetReading{Available: available, Limit: 50} }}))
	}
	one, two := budget(40), budget(0)
	r.want(map[string]float64{`retry_budget_available{layer_name="extra"}`: 40, `retry_budget_limit{layer_name="extra"}`: 100})
	r.bus.Remove(one)
	r.want(map[string]float64{`retry_budget_available{layer_name="extra"}`: 0, `retry_budget_limit{layer_name="extra"}`: 50})
	r.bus.Remove(two)
	r.want(map[string]float64{`retry_budget_available{layer_name="extra"}`: -1})
}

// An adaptive limiter is read like a bulkhead: its limit is what it has found by then.
func TestAnAdaptiveLimiterIsRead(t *testing.T) {
	r := newRig(t, Config{})
	found := int64(20)
	r.keep(r.bus.NewSource(events.SourceSpec{Layer: "search", Type: events.TypeAdaptiveLimiter,
		Limiter: func() events.LimiterReading { return events.LimiterReading{Limit: found, Usage: 3} }}))
	r.want(map[string]float64{`limiter_limit{layer_name="search"}`: 20})
	found = 14
	r.want(map[string]float64{`limiter_limit{layer_name="search"}`: 14, `limiter_usage{layer_name="search"}`: 3})
}

// PROM-01
func TestADisabledBreakerIsShown(t *testing.T) {
	r := newRig(t, Config{})
	b := r.breaker("db")
	b.set(func(b *events.BreakerReading) {
		b.State, b.Spent[events.StateDisabled] = events.StateDisabled, time.Minute
	})
	r.bus.BreakerStateChanged.Publish(t.Context(), events.BreakerStateChanged{Meta: events.Meta{Source: b.source},
		From: events.StateClosed, To: events.StateDisabled, Reason: events.ReasonManual})
	r.bus.BreakerStateChanged.Publish(t.Context(), events.BreakerStateChanged{Meta: events.Meta{Source: b.source},
		From: events.StateClosed, To: events.StateOpen, Reason: events.ReasonSlow})
	r.want(map[string]float64{
		`circuit_breaker_state{circuit_breaker_state="disabled",layer_name="db"}`:                             1,
		`circuit_breaker_state{circuit_breaker_state="closed",layer_name="db"}`:                               0,
		`circuit_breaker_state_time_seconds_total{circuit_breaker_state="disabled",layer_name="db"}`:          60,
		`circuit_breaker_transitions_total{circuit_breaker_state="disabled",layer_name="db",reason="manual"}`: 1,
		`circuit_breaker_transitions_total{circuit_breaker_state="open",layer_name="db",reason="slow"}`:       1,
	})
}

// BUS-05, BUS-06: who panics and who loses events is on the metrics, by subscriber.
func TestTheBusTellsWhoPanicsAndWhoLosesEvents(t *testing.T) {
	r := newRig(t, Config{})
	r.bus.TimedOut.Subscribe(func(context.Context, events.TimedOut) { panic("always") })
	r.bus.TimedOut.Publish(t.Context(), events.TimedOut{})
	r.bus.CountDropped()
	const promres = "github.com/telltale-go/telltale/promres"
	r.want(map[string]float64{
		`bus_handler_panics_total{bus_subscriber="` + promres + `"}`: 1, // this test is of the package
		`bus_dropped_events_total{bus_subscriber="` + promres + `"}`: 0,
		`bus_dropped_events_total{bus_subscriber="outbox"}`:          1,
		`bus_handler_panics_total{bus_subscriber="outbox"}`:          0,
	})
}
