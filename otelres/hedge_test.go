package otelres_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/resilience"
	"go.opentelemetry.io/otel/codes"
)

// OTEL-01, OTEL-02: the attempts of a real Hedge are siblings under the call; the loser's span ends when its run has, after
// the call, as canceled and no error, and what it started is its child.
func TestARealHedgesAttemptsAreSiblings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "profiles", Bus: r.bus, Layers: []resilience.Layer{
			resilience.Timeout{}, resilience.Hedge{Delay: 50 * time.Millisecond}}})
		v, err := p.Do(t.Context(), func(ctx context.Context) (int, error) {
			_, own := r.tracers.Tracer("client").Start(ctx, "query")
			defer own.End()
			if resilience.AttemptNumber(ctx) == 1 {
				<-ctx.Done()
				time.Sleep(20 * time.Millisecond) // it takes its time to leave
				return 0, ctx.Err()
			}
			return 2, nil
		})
		if v != 2 || err != nil {
			t.Fatal(v, err)
		}
		execution := r.ended("profiles")
		synctest.Wait()
		time.Sleep(time.Second)
		var kinds []string
		for _, s := range r.spans.Ended() {
			if s.Name() != "profiles attempt" {
				continue
			}
			got := attributesOf(s)
			kinds = append(kinds, got["resilience.attempt.kind"]+" "+got["resilience.outcome"])
			if s.Parent().SpanID() != execution.SpanContext().SpanID() || s.Status().Code != codes.Unset {
				t.Errorf("attempt %v: parent %v, status %v", got, s.Parent().SpanID(), s.Status())
			}
			if got["resilience.outcome"] == "canceled" && !s.EndTime().After(execution.EndTime()) {
				t.Error("the loser's span ends before its run")
			}
		}
		if len(kinds) != 2 || kinds[0] != "hedge success" || kinds[1] != "initial canceled" {
			t.Errorf("attempts %q, want the hedge that won, then the loser", kinds)
		}
		if got := r.value("resilience.hedge.wins", "resilience.pipeline.name", "profiles"); got != 1 {
			t.Errorf("wins = %v, want 1", got)
		}
		runtime.KeepAlive(p)
	})
}
