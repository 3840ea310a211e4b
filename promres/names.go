package promres

import (
	"strings"

	"github.com/telltale-go/telltale/events"
)

// metric describes one metric of ours. Its Prometheus name is the translation of its OpenTelemetry name and unit: dots
// become underscores, the unit a suffix, a counter ends in _total.
type metric struct {
	name   string // in Prometheus
	otel   string // in OpenTelemetry
	unit   string // UCUM: s, or in braces what is counted; empty for none
	kind   kind
	by     []string // attribute keys; a label is one with underscores for dots
	help   string
	bounds []float64 // a histogram's classic buckets
}

type kind uint8

const (
	counter       kind = 1 + iota
	upDownCounter      // in Prometheus a gauge
	gauge
	histogram
)

// Attribute keys that only metrics have.
const (
	keyWaitKind      = "resilience.wait.kind"
	keyLayerPosition = "resilience.layer.position"
	keyLayerShared   = "resilience.layer.shared"
	keyLayerSettings = "resilience.layer.settings"
	keyVersion       = "resilience.version"
	keyBusSubscriber = "resilience.bus.subscriber"
)

// The values of resilience.wait.kind.
const (
	waitBackoff = "backoff"
	waitQueue   = "queue"
)

// id is a metric's place in the table.
type id int

const (
	executions id = iota
	executionDuration
	executionActive
	executionAttempts
	executionWaitTime
	attempts
	attemptFailures
	attemptDuration
	retryStops
	retryBudgetAvailable
	retryBudgetLimit
	rejections
	timeouts
	fallbacks
	hedgeWins
	hedgeDenials
	singleflightCalls
	breakerState
	breakerStateTime
	breakerStateChangeTime
	breakerNextProbeTime
	breakerTransitions
	breakerFailureRatio
	breakerFailureRatioLimit
	breakerWindowCalls
	breakerCooldown
	limiterLimit
	limiterUsage
	limiterQueued
	layerInfo
	buildInfo
	busDroppedEvents
	busHandlerPanics
)

// table lists the metrics.
var table = [...]metric{
	executions: {
		name: "resilience_executions_total",
		otel: "resilience.executions", unit: "{execution}", kind: counter,
		by:   []string{events.KeyPipelineName, events.KeyOutcome},
		help: "Calls of a pipeline, by how they ended.",
	},
	executionDuration: {
		name: "resilience_execution_duration_seconds",
		otel: "resilience.execution.duration", unit: "s", kind: histogram,
		by:     []string{events.KeyPipelineName, events.KeyOutcome},
		help:   "How long calls of a pipeline took, waits included.",
		bounds: secondsBounds,
	},
	executionActive: {
		name: "resilience_execution_active",
		otel: "resilience.execution.active", unit: "{execution}", kind: upDownCounter,
		by:   []string{events.KeyPipelineName},
		help: "Calls of a pipeline that are running now.",
	},
	executionAttempts: {
		name: "resilience_execution_attempts",
		otel: "resilience.execution.attempts", unit: "{attempt}", kind: histogram,
		by:     []string{events.KeyPipelineName, events.KeyOutcome},
		help:   "How many runs of the operation a call took.",
		bounds: []float64{0, 1, 2, 3, 5},
	},
	executionWaitTime: {
		name: "resilience_execution_wait_time_seconds_total",
		otel: "resilience.execution.wait.time", unit: "s", kind: counter,
		by:   []string{events.KeyPipelineName, keyWaitKind},
		help: "Time that calls waited between attempts (backoff) and for admission (queue).",
	},
	attempts: {
		name: "resilience_attempts_total",
		otel: "resilience.attempts", unit: "{attempt}", kind: counter,
		by:   []string{events.KeyPipelineName, events.KeyAttemptKind, events.KeyOutcome},
		help: "Runs of the operation: the load on the dependency.",
	},
	attemptFailures: {
		name: "resilience_attempt_failures_total",
		otel: "resilience.attempt.failures", unit: "{failure}", kind: counter,
		by:   []string{events.KeyPipelineName, events.KeyErrorType},
		help: "Runs of the operation that failed or timed out, by the class of the error.",
	},
	attemptDuration: {
		name: "resilience_attempt_duration_seconds",
		otel: "resilience.attempt.duration", unit: "s", kind: histogram,
		by:     []string{events.KeyPipelineName, events.KeyOutcome},
		help:   "How long runs of the operation took, where a call may take several.",
		bounds: secondsBounds,
	},
	retryStops: {
		name: "resilience_retry_stops_total",
		otel: "resilience.retry.stops", unit: "{stop}", kind: counter,
		by:   []string{events.KeyPipelineName, events.KeyReason},
		help: "Retries that ended without success, by the reason.",
	},
	retryBudgetAvailable: {
		name: "resilience_retry_budget_available",
		otel: "resilience.retry.budget.available", unit: "{attempt}", kind: gauge,
		by:   []string{events.KeyLayerName},
		help: "Extra attempts that a retry budget would grant now; 0 if it is drained.",
	},
	retryBudgetLimit: {
		name: "resilience_retry_budget_limit",
		otel: "resilience.retry.budget.limit", unit: "{attempt}", kind: gauge,
		by:   []string{events.KeyLayerName},
		help: "Extra attempts that a retry budget grants at most.",
	},
	rejections: {
		name: "resilience_rejections_total",
		otel: "resilience.rejections", unit: "{rejection}", kind: counter,
		by:   []string{events.KeyPipelineName, events.KeyLayerName, events.KeyReason},
		help: "Calls that a layer refused.",
	},
	timeouts: {
		name: "resilience_timeouts_total",
		otel: "resilience.timeouts", unit: "{timeout}", kind: counter,
		by:   []string{events.KeyPipelineName, events.KeyLayerName},
		help: "Timeouts whose limit passed before the operation returned.",
	},
	fallbacks: {
		name: "resilience_fallbacks_total",
		otel: "resilience.fallbacks", unit: "{fallback}", kind: counter,
		by:   []string{events.KeyPipelineName, events.KeyOutcome},
		help: "Fallbacks that answered a call, by whether they could.",
	},
	hedgeWins: {
		name: "resilience_hedge_wins_total",
		otel: "resilience.hedge.wins", unit: "{hedge}", kind: counter,
		by:   []string{events.KeyPipelineName},
		help: "Hedges that succeeded before the runs that were started earlier.",
	},
	hedgeDenials: {
		name: "resilience_hedge_denials_total",
		otel: "resilience.hedge.denials", unit: "{hedge}", kind: counter,
		by:   []string{events.KeyPipelineName},
		help: "Hedges that were due and that a budget refused.",
	},
	singleflightCalls: {
		name: "resilience_singleflight_calls_total",
		otel: "resilience.singleflight.calls", unit: "{call}", kind: counter,
		by:   []string{events.KeyPipelineName, events.KeyFlightRole},
		help: "Calls with a key, by whether they led or followed another.",
	},
	breakerState: {
		name: "resilience_circuit_breaker_state",
		otel: "resilience.circuit_breaker.state", unit: "{circuit_breaker}", kind: upDownCounter,
		by:   []string{events.KeyLayerName, events.KeyState},
		help: "1 for the state that a circuit breaker is in, 0 for the others.",
	},
	breakerStateTime: {
		name: "resilience_circuit_breaker_state_time_seconds_total",
		otel: "resilience.circuit_breaker.state.time", unit: "s", kind: counter,
		by:   []string{events.KeyLayerName, events.KeyState},
		help: "Time that a circuit breaker has spent in each state.",
	},
	breakerStateChangeTime: {
		name: "resilience_circuit_breaker_state_change_time_seconds",
		otel: "resilience.circuit_breaker.state_change.time", unit: "s", kind: gauge,
		by:   []string{events.KeyLayerName},
		help: "When a circuit breaker entered its state, in seconds since 1970.",
	},
	breakerNextProbeTime: {
		name: "resilience_circuit_breaker_next_probe_time_seconds",
		otel: "resilience.circuit_breaker.next_probe.time", unit: "s", kind: gauge,
		by:   []string{events.KeyLayerName},
		help: "When an open circuit breaker lets a probe through, in seconds since 1970; 0 if it is not open.",
	},
	breakerTransitions: {
		name: "resilience_circuit_breaker_transitions_total",
		otel: "resilience.circuit_breaker.transitions", unit: "{transition}", kind: counter,
		by:   []string{events.KeyLayerName, events.KeyState, events.KeyReason},
		help: "State changes of a circuit breaker, by the state it entered and the reason.",
	},
	breakerFailureRatio: {
		name: "resilience_circuit_breaker_failure_ratio",
		otel: "resilience.circuit_breaker.failure.ratio", unit: "1", kind: gauge,
		by:   []string{events.KeyLayerName},
		help: "Failures by calls in a circuit breaker's window.",
	},
	breakerFailureRatioLimit: {
		name: "resilience_circuit_breaker_failure_ratio_limit",
		otel: "resilience.circuit_breaker.failure.ratio.limit", kind: gauge,
		by:   []string{events.KeyLayerName},
		help: "Where a circuit breaker opens: a failure ratio, or a number of consecutive failures.",
	},
	breakerWindowCalls: {
		name: "resilience_circuit_breaker_window_calls",
		otel: "resilience.circuit_breaker.window.calls", unit: "{call}", kind: gauge,
		by:   []string{events.KeyLayerName},
		help: "Calls in a circuit breaker's window.",
	},
	breakerCooldown: {
		name: "resilience_circuit_breaker_cooldown_seconds",
		otel: "resilience.circuit_breaker.cooldown", unit: "s", kind: gauge,
		by:   []string{events.KeyLayerName},
		help: "How long a circuit breaker stays open.",
	},
	limiterLimit: {
		name: "resilience_limiter_limit",
		otel: "resilience.limiter.limit", unit: "{call}", kind: upDownCounter,
		by:   []string{events.KeyLayerName},
		help: "Calls that a limiter allows at once.",
	},
	limiterUsage: {
		name: "resilience_limiter_usage",
		otel: "resilience.limiter.usage", unit: "{call}", kind: upDownCounter,
		by:   []string{events.KeyLayerName},
		help: "Calls that a limiter has admitted and that still run.",
	},
	limiterQueued: {
		name: "resilience_limiter_queued",
		otel: "resilience.limiter.queued", unit: "{call}", kind: upDownCounter,
		by:   []string{events.KeyLayerName},
		help: "Calls that wait for a limiter's admission.",
	},
	layerInfo: {
		name: "resilience_layer_info",
		otel: "resilience.layer.info", kind: gauge,
		by: []string{events.KeyPipelineName, events.KeyLayerName, events.KeyLayerType, keyLayerPosition, keyLayerShared,
			keyLayerSettings},
		help: "1 for each layer of a pipeline: its place, whose state it shares, its effective settings.",
	},
	buildInfo: {
		name: "resilience_build_info",
		otel: "resilience.build.info", kind: gauge,
		by:   []string{keyVersion},
		help: "1 for the version of the resilience module that is built in.",
	},
	busDroppedEvents: {
		name: "resilience_bus_dropped_events_total",
		otel: "resilience.bus.dropped_events", unit: "{event}", kind: counter,
		by:   []string{keyBusSubscriber},
		help: "Events that a subscriber lost: its bounded queue was full, or it could not write them.",
	},
	busHandlerPanics: {
		name: "resilience_bus_handler_panics_total",
		otel: "resilience.bus.handler_panics", unit: "{panic}", kind: counter,
		by:   []string{keyBusSubscriber},
		help: "Panics of a subscriber's handlers.",
	},
}

var secondsBounds = []float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30}

// labels returns the names of the metric's labels.
func (m metric) labels() []string {
	names := make([]string, len(m.by))
	for i, key := range m.by {
		names[i] = strings.ReplaceAll(key, ".", "_")
	}
	return names
}
