package otelres

import (
	"slices"
	"testing"
)

// OTEL-04: no metric that was decided on is forgotten.
func TestEveryMetricIsMade(t *testing.T) {
	want := []string{
		"resilience.executions", "resilience.execution.duration", "resilience.execution.active", "resilience.execution.attempts",
		"resilience.execution.wait.time", "resilience.attempts", "resilience.attempt.failures", "resilience.attempt.duration",
		"resilience.retry.stops", "resilience.retry.budget.available", "resilience.retry.budget.limit", "resilience.rejections",
		"resilience.timeouts", "resilience.fallbacks", "resilience.hedge.wins", "resilience.hedge.denials",
		"resilience.singleflight.calls", "resilience.circuit_breaker.state", "resilience.circuit_breaker.state.time",
		"resilience.circuit_breaker.state_change.time", "resilience.circuit_breaker.next_probe.time",
		"resilience.circuit_breaker.transitions", "resilience.circuit_breaker.failure.ratio",
		"resilience.circuit_breaker.failure.ratio.limit", "resilience.circuit_breaker.window.calls",
		"resilience.circuit_breaker.cooldown", "resilience.limiter.limit", "resilience.limiter.usage", "resilience.limiter.queued",
		"resilience.keyed.rejections", "resilience.keyed.circuit_breaker.state", "resilience.keyed.limiter.limit",
		"resilience.keyed.limiter.usage", "resilience.keyed.limiter.queued",
		"resilience.layer.info", "resilience.build.info", "resilience.bus.dropped_events", "resilience.bus.handler_panics",
	}
	var got []string
	for _, m := range Metrics() {
		got = append(got, m.Name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("metrics are\n%q, want\n%q", got, want)
	}
}
