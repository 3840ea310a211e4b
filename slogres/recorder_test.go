package slogres

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/telltale-go/telltale/events"
)

// recorder is a handler that keeps what it gets.
type recorder struct {
	min slog.Level
	do  func(context.Context, slog.Record) error // called for each record; nil: nothing

	mu      sync.Mutex
	records []slog.Record
	ctxs    []context.Context
}

func debugRecorder() *recorder { return &recorder{min: slog.LevelDebug} }

func (r *recorder) Enabled(_ context.Context, l slog.Level) bool { return l >= r.min }
func (r *recorder) WithAttrs([]slog.Attr) slog.Handler           { return r }
func (r *recorder) WithGroup(string) slog.Handler                { return r }

func (r *recorder) Handle(ctx context.Context, rec slog.Record) error {
	r.mu.Lock()
	r.records = append(r.records, rec)
	r.ctxs = append(r.ctxs, ctx)
	r.mu.Unlock()
	if r.do != nil {
		return r.do(ctx, rec)
	}
	return nil
}

func (r *recorder) all() []slog.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.records)
}

func (r *recorder) messages() []string {
	var all []string
	for _, rec := range r.all() {
		all = append(all, rec.Message)
	}
	return all
}

// of returns the records of one kind of event.
func (r *recorder) of(name string) []slog.Record {
	var all []slog.Record
	for _, rec := range r.all() {
		if attrsOf(rec)[events.KeyEventName] == name {
			all = append(all, rec)
		}
	}
	return all
}

func (r *recorder) atLevel(l slog.Level) []slog.Record {
	var all []slog.Record
	for _, rec := range r.all() {
		if rec.Level == l {
			all = append(all, rec)
		}
	}
	return all
}

func attrsOf(r slog.Record) map[string]any {
	m := map[string]any{}
	r.Attrs(func(a slog.Attr) bool {
		m[a.Key] = a.Value.Any()
		return true
	})
	return m
}

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
