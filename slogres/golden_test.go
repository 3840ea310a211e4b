package slogres

import (
	"bytes"
	"context"
	"flag"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
)

// The golden file is made by
//
//	go test ./slogres -run Golden -update
var update = flag.Bool("update", false, "write the golden files")

// SLOG-01
func TestGoldenRecordsOfAnIncident(t *testing.T) {
	var out bytes.Buffer
	bus := events.NewBus()
	attachSpans(bus)
	p := newPipeline(bus)
	p.key = "user:4711"
	MustAttach(bus, Config{Trace: traceOf, Handler: slog.NewJSONHandler(&out, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key != slog.TimeKey {
				return a
			}
			if at := a.Value.Time(); at.Year() == start.Year() && at.Sub(start) < time.Minute {
				return slog.Int64("ms", at.Sub(start).Milliseconds())
			}
			return slog.Attr{} // when sources were made
		},
	})})

	ctx := context.Background()
	p.mended(ctx)
	p.failed(ctx)
	p.call(ctx, func(ctx context.Context) events.ExecutionFinished {
		p.attempt(ctx, 1, context.DeadlineExceeded)
		bus.TimedOut.Publish(ctx, events.TimedOut{Meta: p.meta(p.retry, 1), Limit: 500 * time.Millisecond})
		bus.LateResult.Publish(ctx, events.LateResult{Meta: p.meta(p.breaker, 1), Outcome: events.OutcomeSuccess})
		bus.DiscardFailed.Publish(ctx, events.DiscardFailed{Meta: p.meta(p.retry, 1), Err: errDown})
		bus.CallbackPanicked.Publish(ctx, events.CallbackPanicked{Meta: p.meta(p.retry, 1), Callback: "Retry.If", Value: errDown})
		return events.ExecutionFinished{Outcome: events.OutcomeTimeout, Layer: p.retry, Err: context.DeadlineExceeded, Attempts: 1}
	})
	p.transition(ctx, 1, events.StateClosed, events.StateOpen, events.ReasonRatio)
	p.execution = 3
	p.rejected(ctx)
	p.transition(ctx, 2, events.StateOpen, events.StateHalfOpen, events.ReasonCooldown)
	p.transition(ctx, 3, events.StateHalfOpen, events.StateClosed, events.ReasonProbesOK)
	bus.Remove(p.source)

	const golden = "testdata/incident.jsonl"
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("records differ from %s; if that is meant, run: go test ./slogres -run Golden -update\ngot\n%s", golden, out.Bytes())
	}
}
