//go:build !race

// The race detector makes pools forget, and so allocate.

package slogres

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
)

// STYLE: a test pins the allocations of what is not logged.
func TestADisabledLevelAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	for name, cfg := range map[string]Config{
		"nothing enabled":           {Handler: slog.DiscardHandler},
		"information and more":      {Handler: slog.NewJSONHandler(io.Discard, nil)},
		"buffered":                  {Handler: slog.NewJSONHandler(io.Discard, nil), Buffered: 10},
		"with a filter and a trace": {Handler: slog.NewJSONHandler(io.Discard, nil), Skip: SkipStarts, Trace: traceOf},
	} {
		bus := events.NewBus()
		detach := MustAttach(bus, cfg)
		m := events.Meta{Source: newPipeline(bus).source, Execution: 1, Attempt: 1, At: time.Now()}
		var executions events.Ends[events.ExecutionFinished]
		var attempts events.Ends[events.AttemptFinished]
		call := func() {
			c := bus.Execution.Begin(ctx, events.ExecutionStarted{Meta: m}, &executions)
			bus.Attempt.Begin(c, events.AttemptStarted{Meta: m}, &attempts)
			attempts.Finish(events.AttemptFinished{Meta: m, Outcome: events.OutcomeFailure, Err: errDown})
			bus.RetryScheduled.Publish(c, events.RetryScheduled{Meta: m, Err: errDown})
			bus.RetryStopped.Publish(c, events.RetryStopped{Meta: m, Err: errDown})
			bus.CallRejected.Publish(c, events.CallRejected{Meta: m, Err: errDown})
			bus.LateResult.Publish(c, events.LateResult{Meta: m, Err: errDown})
			executions.Finish(events.ExecutionFinished{Meta: m, Outcome: events.OutcomeSuccess})
		}
		call()
		if n := testing.AllocsPerRun(1000, call); n != 0 {
			t.Errorf("%s: %v allocations a call, want 0", name, n)
		}
		detach()
	}
}

func BenchmarkCall(b *testing.B) {
	for name, h := range map[string]slog.Handler{
		"disabled": slog.DiscardHandler,
		"info":     slog.NewJSONHandler(io.Discard, nil),
		"debug":    slog.NewJSONHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug}),
		"routed": MustRoute(slog.NewJSONHandler(io.Discard, nil),
			slog.NewJSONHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug})),
	} {
		b.Run(name, func(b *testing.B) {
			bus := events.NewBus()
			p := newPipeline(bus)
			defer MustAttach(bus, Config{Handler: h})()
			m := events.Meta{Source: p.source, Execution: 1, Attempt: 1, At: time.Now()}
			var executions events.Ends[events.ExecutionFinished]
			var attempts events.Ends[events.AttemptFinished]
			b.ReportAllocs()
			for b.Loop() {
				ctx := bus.Execution.Begin(context.Background(), events.ExecutionStarted{Meta: m}, &executions)
				bus.Attempt.Begin(ctx, events.AttemptStarted{Meta: m}, &attempts)
				attempts.Finish(events.AttemptFinished{Meta: m, Outcome: events.OutcomeSuccess})
				executions.Finish(events.ExecutionFinished{Meta: m, Outcome: events.OutcomeSuccess})
			}
		})
	}
}
