// Package names is the one table of what the adapters measure: names, kinds, units, attributes and words, so that
// package promres and package otelres cannot disagree.
package names

import (
	"slices"

	"github.com/telltale-go/telltale/events"
)

// Metric describes one metric, as OpenTelemetry has it.
type Metric struct {
	Name string
	Kind Kind
	// Unit is in UCUM notation; empty for what has none, such as a limit that is a ratio or a number.
	Unit string
	// Attributes are the keys of its attributes.
	Attributes []string
	// Bounds are a histogram's.
	Bounds []float64
	Doc    string
}

// Kind is a metric's kind.
type Kind string

const (
	Counter       Kind = "counter"
	UpDownCounter Kind = "up-down counter"
	Gauge         Kind = "gauge"
	Histogram     Kind = "histogram"
)

// Keys that only metrics have.
const (
	KeyKey           = "resilience.key"
	KeyWaitKind      = "resilience.wait.kind"
	KeyLayerPosition = "resilience.layer.position"
	KeyLayerShared   = "resilience.layer.shared"
	KeyLayerSettings = "resilience.layer.settings"
	KeyVersion       = "resilience.version"
	KeyBusSubscriber = "resilience.bus.subscriber"
)

// The values of resilience.wait.kind.
const (
	WaitBackoff = "backoff"
	WaitQueue   = "queue"
)

// ID is a metric's place in the table.
type ID int

const (
	Executions ID = iota
	ExecutionDuration
	ExecutionActive
	ExecutionAttempts
	ExecutionWait
	Attempts
	AttemptFailures
	AttemptDuration
	RetryStops
	BudgetAvailable
	BudgetLimit
	Rejections
	Timeouts
	Fallbacks
	HedgeWins
	HedgeDenials
	FlightCalls
	BreakerState
	BreakerStateTime
	BreakerStateChangeTime
	BreakerNextProbeTime
	BreakerTransitions
	BreakerFailureRatio
	BreakerFailureRatioLimit
	BreakerWindowCalls
	BreakerCooldown
	LimiterLimit
	LimiterUsage
	LimiterQueued
	KeyedRejections
	KeyedBreakerState
	KeyedLimiterLimit
	KeyedLimiterUsage
	KeyedLimiterQueued
	LayerInfo
	BuildInfo
	DroppedEvents
	HandlerPanics
	// Count is how many there are.
	Count
)

// Of returns what describes a metric. The slices in it must not be changed.
func (i ID) Of() Metric { return table[i] }

// All lists them. The slices in them must not be changed.
func All() []Metric { return slices.Clone(table[:]) }

var (
	secondsBounds  = []float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30}
	attemptsBounds = []float64{0, 1, 2, 3, 5}

	byOutcome  = []string{events.KeyPipelineName, events.KeyOutcome}
	byPipeline = []string{events.KeyPipelineName}
	byPlace    = []string{events.KeyPipelineName, events.KeyLayerName}
	byState    = []string{events.KeyLayerName, events.KeyState}
	byLayer    = []string{events.KeyLayerName}
	byKey      = []string{events.KeyLayerName, KeyKey}

	bySubscriber = []string{KeyBusSubscriber}
)

var table = [Count]Metric{
	Executions: {"resilience.executions", Counter, "{execution}", byOutcome, nil,
		"Calls of a pipeline, by how they ended."},
	ExecutionDuration: {"resilience.execution.duration", Histogram, "s", byOutcome, secondsBounds,
		"How long calls of a pipeline took, waits included."},
	ExecutionActive: {"resilience.execution.active", UpDownCounter, "{execution}", byPipeline, nil,
		"Calls of a pipeline that are running now."},
	ExecutionAttempts: {"resilience.execution.attempts", Histogram, "{attempt}", byOutcome, attemptsBounds,
		"Runs of the operation that a call took."},
	ExecutionWait: {"resilience.execution.wait.time", Counter, "s", []string{events.KeyPipelineName, KeyWaitKind}, nil,
		"Time that calls waited between attempts (backoff) and for admission (queue)."},
	Attempts: {"resilience.attempts", Counter, "{attempt}",
		[]string{events.KeyPipelineName, events.KeyAttemptKind, events.KeyOutcome}, nil,
		"Runs of the operation: the load on the dependency."},
	AttemptFailures: {"resilience.attempt.failures", Counter, "{failure}",
		[]string{events.KeyPipelineName, events.KeyErrorType}, nil,
		"Runs of the operation that failed or timed out, by type of error."},
	AttemptDuration: {"resilience.attempt.duration", Histogram, "s", byOutcome, secondsBounds,
		"How long runs of the operation took, where a call may take several."},
	RetryStops: {"resilience.retry.stops", Counter, "{stop}", []string{events.KeyPipelineName, events.KeyReason}, nil,
		"Retries that ended without success, by the reason."},
	BudgetAvailable: {"resilience.retry.budget.available", Gauge, "{attempt}", byLayer, nil,
		"Extra attempts that a retry budget would grant now; 0 if it is drained."},
	BudgetLimit: {"resilience.retry.budget.limit", Gauge, "{attempt}", byLayer, nil,
		"Extra attempts that a retry budget grants at most."},
	Rejections: {"resilience.rejections", Counter, "{rejection}",
		[]string{events.KeyPipelineName, events.KeyLayerName, events.KeyReason}, nil,
		"Calls that a layer refused."},
	Timeouts: {"resilience.timeouts", Counter, "{timeout}", byPlace, nil,
		"Timeouts whose limit passed before the operation returned."},
	Fallbacks: {"resilience.fallbacks", Counter, "{fallback}", byOutcome, nil,
		"Fallbacks that answered a call, by whether they could."},
	HedgeWins: {"resilience.hedge.wins", Counter, "{hedge}", byPipeline, nil,
		"Hedges that succeeded before the runs that were started earlier."},
	HedgeDenials: {"resilience.hedge.denials", Counter, "{hedge}", byPipeline, nil,
		"Hedges that were due and that a budget refused."},
	FlightCalls: {"resilience.singleflight.calls", Counter, "{call}",
		[]string{events.KeyPipelineName, events.KeyFlightRole}, nil,
		"Calls with a key, by whether they led or followed another."},
	BreakerState: {"resilience.circuit_breaker.state", UpDownCounter, "{circuit_breaker}", byState, nil,
		"Circuit breakers by state: 1 for the state that one is in, 0 for the others."},
	BreakerStateTime: {"resilience.circuit_breaker.state.time", Counter, "s", byState, nil,
		"Time that a circuit breaker has spent in each state."},
	BreakerStateChangeTime: {"resilience.circuit_breaker.state_change.time", Gauge, "s", byLayer, nil,
		"When a circuit breaker entered its state, in Unix time."},
	BreakerNextProbeTime: {"resilience.circuit_breaker.next_probe.time", Gauge, "s", byLayer, nil,
		"When an open circuit breaker lets a probe through, in Unix time; 0 if it is not open."},
	BreakerTransitions: {"resilience.circuit_breaker.transitions", Counter, "{transition}",
		[]string{events.KeyLayerName, events.KeyState, events.KeyReason}, nil,
		"State changes of a circuit breaker, by the state it entered and why."},
	BreakerFailureRatio: {"resilience.circuit_breaker.failure.ratio", Gauge, "1", byLayer, nil,
		"Share of failures in what a circuit breaker counts now."},
	BreakerFailureRatioLimit: {"resilience.circuit_breaker.failure.ratio.limit", Gauge, "", byLayer, nil,
		"Where a circuit breaker opens: a share of failures, or a number of consecutive ones."},
	BreakerWindowCalls: {"resilience.circuit_breaker.window.calls", Gauge, "{call}", byLayer, nil,
		"Calls that a circuit breaker counts now."},
	BreakerCooldown: {"resilience.circuit_breaker.cooldown", Gauge, "s", byLayer, nil,
		"How long a circuit breaker stays open."},
	LimiterLimit: {"resilience.limiter.limit", UpDownCounter, "{call}", byLayer, nil,
		"Calls that a limiter lets run at once."},
	LimiterUsage: {"resilience.limiter.usage", UpDownCounter, "{call}", byLayer, nil,
		"Calls that hold one of a limiter's permits now."},
	LimiterQueued: {"resilience.limiter.queued", UpDownCounter, "{call}", byLayer, nil,
		"Calls that wait for one of a limiter's permits now."},
	KeyedRejections: {"resilience.keyed.rejections", Counter, "{rejection}",
		[]string{events.KeyLayerName, KeyKey, events.KeyReason}, nil,
		"Calls that the gate of a key refused. With Config.Keys."},
	KeyedBreakerState: {"resilience.keyed.circuit_breaker.state", UpDownCounter, "{circuit_breaker}",
		[]string{events.KeyLayerName, KeyKey, events.KeyState}, nil,
		"The circuit breaker of a key: 1 for the state that it is in, 0 for the others. With Config.Keys."},
	KeyedLimiterLimit: {"resilience.keyed.limiter.limit", UpDownCounter, "{call}", byKey, nil,
		"Calls that the limiter of a key lets run at once. With Config.Keys."},
	KeyedLimiterUsage: {"resilience.keyed.limiter.usage", UpDownCounter, "{call}", byKey, nil,
		"Calls that hold a permit of the limiter of a key now. With Config.Keys."},
	KeyedLimiterQueued: {"resilience.keyed.limiter.queued", UpDownCounter, "{call}", byKey, nil,
		"Calls that wait for a permit of the limiter of a key now. With Config.Keys."},
	LayerInfo: {"resilience.layer.info", Gauge, "",
		[]string{events.KeyPipelineName, events.KeyLayerName, events.KeyLayerType, KeyLayerPosition, KeyLayerShared,
			KeyLayerSettings}, nil,
		"1 for each layer of a pipeline: its place, the shared state it uses, its effective settings."},
	BuildInfo: {"resilience.build.info", Gauge, "", []string{KeyVersion}, nil,
		"1, with the version of Telltale."},
	DroppedEvents: {"resilience.bus.dropped_events", Counter, "{event}", bySubscriber, nil,
		"Events that a subscriber lost: its bounded queue was full, or it could not write them."},
	HandlerPanics: {"resilience.bus.handler_panics", Counter, "{panic}", bySubscriber, nil,
		"Panics of a subscriber's handlers."},
}
