package otelres_test

import (
	"context"
	"time"

	"github.com/telltale-go/telltale/events"
)

// profiles is the golden story's second pipeline. Its calls: a hedge that wins, with its loser settled before the winner's
// span ends; a fallback that answers; one that fails; a leader with a follower; a hedge that the budget denies.
func (r *rig) profiles() {
	r.source(events.SourceSpec{Layer: "extra", Type: events.TypeRetryBudget,
		Budget: func() events.BudgetReading { return events.BudgetReading{Available: 40, Limit: 50} }})
	p := r.pipeline("profiles", events.TypeSingleflight, events.TypeFallback, events.TypeHedge)
	of := func(typ string, attempt int) events.Meta { return events.Meta{Source: layer(p, typ), Attempt: attempt} }
	const ms = time.Millisecond
	ctx := context.Background()
	lead := func(ctx context.Context) {
		r.bus.FlightJoined.Publish(ctx, events.FlightJoined{Meta: of(events.TypeSingleflight, 1), Role: events.FlightLeader})
	}

	r.execution(ctx, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess, Attempts: 2, Duration: 80 * ms}, func(ctx context.Context) {
		lead(ctx)
		r.attempt(ctx, p, 1, 0, events.AttemptFinished{Outcome: events.OutcomeCanceled, Err: context.Canceled, Duration: 80 * ms}, func(context.Context) {
			r.bus.HedgeStarted.Publish(ctx, events.HedgeStarted{Meta: of(events.TypeHedge, 2), Delay: 50 * ms})
			r.attempt(ctx, p, 2, 0, events.AttemptFinished{Kind: events.AttemptHedge, Outcome: events.OutcomeSuccess, Duration: 30 * ms}, nil)
		})
		r.bus.HedgeSettled.Publish(ctx, events.HedgeSettled{Meta: of(events.TypeHedge, 2), Kind: events.AttemptHedge, Started: 2})
	})
	fails := func(ctx context.Context) {
		lead(ctx)
		r.attempt(ctx, p, 1, 0, events.AttemptFinished{Outcome: events.OutcomeFailure, Err: class("503"), Duration: ms}, nil)
		r.bus.HedgeDenied.Publish(ctx, events.HedgeDenied{Meta: of(events.TypeHedge, 2), Reason: events.ReasonBudget})
		r.bus.HedgeSettled.Publish(ctx, events.HedgeSettled{Meta: of(events.TypeHedge, 1), Kind: events.AttemptInitial, Started: 1, Err: class("503")})
	}
	r.execution(ctx, p, events.ExecutionFinished{Outcome: events.OutcomeFallback, Attempts: 1, Duration: ms}, func(leaders context.Context) {
		fails(leaders)
		r.execution(ctx, p, events.ExecutionFinished{Outcome: events.OutcomeFallback, Duration: ms}, func(ctx context.Context) {
			r.bus.FlightJoined.Publish(ctx, events.FlightJoined{Meta: of(events.TypeSingleflight, 1), Role: events.FlightFollower,
				Leader: r.calls - 1, LeaderContext: leaders})
		})
		r.bus.FallbackUsed.Publish(leaders, events.FallbackUsed{Meta: of(events.TypeFallback, 1), Outcome: events.OutcomeFallback, Cause: class("503")})
	})
	r.execution(ctx, p, events.ExecutionFinished{Outcome: events.OutcomeFailure, Layer: layer(p, events.TypeFallback), Err: class("eof"),
		Attempts: 1, Duration: ms}, func(ctx context.Context) {
		fails(ctx)
		r.bus.FallbackUsed.Publish(ctx, events.FallbackUsed{Meta: of(events.TypeFallback, 1), Outcome: events.OutcomeFailure,
			Cause: class("503"), Err: class("eof")})
	})
}
