package slogres

import (
	"context"
	"errors"
	"time"

	"github.com/telltale-go/telltale/events"
)

var (
	errDown = errors.New("db01 refused user 4711")
	start   = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
)

// pipeline publishes as a pipeline with a retry and a breaker does.
type pipeline struct {
	bus            *events.Bus
	source         *events.Source
	retry, breaker *events.Source
	shared         *events.Source
	execution      uint64
	now            time.Time
	key            string
	nested         bool
}

func newPipeline(bus *events.Bus) *pipeline {
	shared := bus.NewSource(events.SourceSpec{Layer: "payments-db", Type: events.TypeBreaker})
	source := bus.NewSource(events.SourceSpec{Pipeline: "users.get", Type: events.TypePipeline, Layers: []events.SourceSpec{
		{Pipeline: "users.get", Layer: "retry", Type: events.TypeRetry},
		{Pipeline: "users.get", Layer: "payments-db", Type: events.TypeBreaker, Position: 1, Shared: shared},
	}})
	return &pipeline{bus: bus, source: source, retry: source.Layers()[0], breaker: source.Layers()[1], shared: shared, now: start}
}

func (p *pipeline) meta(s *events.Source, attempt int) events.Meta {
	p.now = p.now.Add(time.Millisecond)
	return events.Meta{Source: s, Key: p.key, Execution: p.execution, Attempt: attempt, Nested: p.nested, At: p.now}
}

// call runs one execution; do runs what happens within it and tells how it ends.
func (p *pipeline) call(ctx context.Context, do func(ctx context.Context) events.ExecutionFinished) {
	p.execution++
	begun := p.now
	var ends events.Ends[events.ExecutionFinished]
	ctx = p.bus.Execution.Begin(ctx, events.ExecutionStarted{Meta: p.meta(p.source, 0)}, &ends)
	f := do(ctx)
	f.Meta = p.meta(p.source, 0)
	f.Duration = f.At.Sub(begun)
	ends.Finish(f)
}

// attempt runs the n-th attempt, which ends with err.
func (p *pipeline) attempt(ctx context.Context, n int, err error) {
	kind := events.AttemptInitial
	if n > 1 {
		kind = events.AttemptRetry
	}
	var ends events.Ends[events.AttemptFinished]
	p.bus.Attempt.Begin(ctx, events.AttemptStarted{Meta: p.meta(p.source, n), Kind: kind}, &ends)
	outcome := events.OutcomeSuccess
	if err != nil {
		outcome = events.OutcomeFailure
	}
	ends.Finish(events.AttemptFinished{Meta: p.meta(p.source, n), Kind: kind, Outcome: outcome, Err: err, Duration: time.Millisecond})
}

func (p *pipeline) scheduled(ctx context.Context, n int) {
	p.bus.RetryScheduled.Publish(ctx, events.RetryScheduled{Meta: p.meta(p.retry, n), Delay: 50 * time.Millisecond, Err: errDown, MaxAttempts: 2})
}

// mended is a call whose first attempt fails and whose second succeeds.
func (p *pipeline) mended(ctx context.Context) {
	p.call(ctx, func(ctx context.Context) events.ExecutionFinished {
		p.attempt(ctx, 1, errDown)
		p.scheduled(ctx, 1)
		p.attempt(ctx, 2, nil)
		return events.ExecutionFinished{Outcome: events.OutcomeSuccess, Attempts: 2}
	})
}

// failed is a call both of whose attempts fail.
func (p *pipeline) failed(ctx context.Context) {
	p.call(ctx, func(ctx context.Context) events.ExecutionFinished {
		p.attempt(ctx, 1, errDown)
		p.scheduled(ctx, 1)
		p.attempt(ctx, 2, errDown)
		p.bus.RetryStopped.Publish(ctx, events.RetryStopped{Meta: p.meta(p.retry, 2), Reason: events.ReasonExhausted, Err: errDown, Attempts: 2})
		return events.ExecutionFinished{Outcome: events.OutcomeFailure, Reason: events.ReasonExhausted, Layer: p.retry, Err: errDown, Attempts: 2}
	})
}

// rejected is a call that the open breaker rejects.
func (p *pipeline) rejected(ctx context.Context) {
	p.call(ctx, func(ctx context.Context) events.ExecutionFinished {
		p.bus.CallRejected.Publish(ctx, events.CallRejected{Meta: p.meta(p.breaker, 0), Reason: events.ReasonOpen, RetryAfter: 4 * time.Second, StateSeq: 1})
		return events.ExecutionFinished{Outcome: events.OutcomeRejected, Reason: events.ReasonOpen, Layer: p.breaker}
	})
}

func (p *pipeline) transition(ctx context.Context, seq uint64, from, to events.State, why events.Reason) {
	p.execution = 0
	e := events.BreakerStateChanged{Meta: p.meta(p.shared, 0), From: from, To: to, Reason: why, Seq: seq, Limit: 0.5}
	if to == events.StateOpen {
		e.Calls, e.Failures, e.FailureRatio, e.Cooldown, e.Err = 20, 12, 0.6, 5*time.Second, errDown
	}
	p.bus.BreakerStateChanged.Publish(ctx, e)
}
