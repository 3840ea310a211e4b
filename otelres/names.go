package otelres

import "github.com/telltale-go/telltale/events"

// Every name that this package gives to telemetry stands in this file. Keys that events have as well are those of
// package events.

// scope is the name of the tracer and of the meter.
const scope = "github.com/telltale-go/telltale/otelres"

// Keys that no event has.
const (
	keyWaitKind       = "resilience.wait.kind"
	keyRetryDelay     = "resilience.retry.delay_s"
	keyRetryHinted    = "resilience.retry.hinted" // the delay is what the server asked for
	keyLayerPosition  = "resilience.layer.position"
	keyLayerShared    = "resilience.layer.shared"
	keyLayerSettings  = "resilience.layer.settings"
	keyVersion        = "resilience.version"
	keyBusSubscriber  = "resilience.bus.subscriber"
	waitKindBackoff   = "backoff"
	waitKindQueue     = "queue"
	attemptSpanSuffix = " attempt" // behind the pipeline's name, which is the execution span's
	spanEventPrefix   = "resilience."
)

// Names of span events.
const (
	spanEventRetryScheduled = spanEventPrefix + "retry.scheduled"
	spanEventRejected       = spanEventPrefix + "call.rejected"
	spanEventTimedOut       = spanEventPrefix + "timeout.fired"
	spanEventStateChanged   = spanEventPrefix + "circuit_breaker.state_changed"
	spanEventFallbackUsed   = spanEventPrefix + "fallback.used"
)

// Kind is a metric's kind.
type Kind string

const (
	KindCounter       Kind = "counter"
	KindUpDownCounter Kind = "up-down counter"
	KindGauge         Kind = "gauge"
	KindHistogram     Kind = "histogram"
)

// Metric describes one metric.
type Metric struct {
	Name string
	Kind Kind
	// Unit is in UCUM notation; empty for what has none, such as a limit that is a ratio or a number.
	Unit string
	// Attributes are the keys of its attributes. On series of a primitive that stands in no pipeline the pipeline's name
	// is missing.
	Attributes []string
	// Bounds are a histogram's.
	Bounds []float64
	Doc    string
}

// Metrics lists what the package measures. The slices in it must not be changed.
func Metrics() []Metric { return append([]Metric(nil), metrics...) }

const (
	nameExecutions        = "resilience.executions"
	nameExecutionDuration = "resilience.execution.duration"
	nameExecutionActive   = "resilience.execution.active"
	nameExecutionAttempts = "resilience.execution.attempts"
	nameExecutionWait     = "resilience.execution.wait.time"
	nameAttempts          = "resilience.attempts"
	nameAttemptFailures   = "resilience.attempt.failures"
	nameAttemptDuration   = "resilience.attempt.duration"
	nameRetryStops        = "resilience.retry.stops"
	nameBudgetAvailable   = "resilience.retry.budget.available"
	nameBudgetLimit       = "resilience.retry.budget.limit"
	nameRejections        = "resilience.rejections"
	nameTimeouts          = "resilience.timeouts"
	nameFallbacks         = "resilience.fallbacks"
	nameHedgeWins         = "resilience.hedge.wins"
	nameHedgeDenials      = "resilience.hedge.denials"
	nameFlightCalls       = "resilience.singleflight.calls"
	nameState             = "resilience.circuit_breaker.state"
	nameStateTime         = "resilience.circuit_breaker.state.time"
	nameStateChangeTime   = "resilience.circuit_breaker.state_change.time"
	nameNextProbeTime     = "resilience.circuit_breaker.next_probe.time"
	nameTransitions       = "resilience.circuit_breaker.transitions"
	nameFailureRatio      = "resilience.circuit_breaker.failure.ratio"
	nameFailureRatioLimit = "resilience.circuit_breaker.failure.ratio.limit"
	nameWindowCalls       = "resilience.circuit_breaker.window.calls"
	nameCooldown          = "resilience.circuit_breaker.cooldown"
	nameLimiterLimit      = "resilience.limiter.limit"
	nameLimiterUsage      = "resilience.limiter.usage"
	nameLimiterQueued     = "resilience.limiter.queued"
	nameLayerInfo         = "resilience.layer.info"
	nameBuildInfo         = "resilience.build.info"
	nameDroppedEvents     = "resilience.bus.dropped_events"
	nameHandlerPanics     = "resilience.bus.handler_panics"
)

var (
	secondsBounds  = []float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30}
	attemptsBounds = []float64{0, 1, 2, 3, 5}

	byOutcome  = []string{events.KeyPipelineName, events.KeyOutcome}
	byPipeline = []string{events.KeyPipelineName}
	byPlace    = []string{events.KeyPipelineName, events.KeyLayerName}
	byState    = []string{events.KeyLayerName, events.KeyState}
	byLayer    = []string{events.KeyLayerName}

	bySubscriber = []string{keyBusSubscriber}
)

var metrics = []Metric{
	{nameExecutions, KindCounter, "{execution}", byOutcome, nil,
		"Calls of a pipeline, by how they ended."},
	{nameExecutionDuration, KindHistogram, "s", byOutcome, secondsBounds,
		"How long calls of a pipeline took."},
	{nameExecutionActive, KindUpDownCounter, "{execution}", byPipeline, nil,
		"Calls of a pipeline that are running now."},
	{nameExecutionAttempts, KindHistogram, "{attempt}", byOutcome, attemptsBounds,
		"Runs of the operation that a call took."},
	{nameExecutionWait, KindCounter, "s", []string{events.KeyPipelineName, keyWaitKind}, nil,
		"Time that calls spent waiting instead of working."},
	{nameAttempts, KindCounter, "{attempt}", []string{events.KeyPipelineName, events.KeyAttemptKind, events.KeyOutcome}, nil,
		"Runs of the operation: the load on the dependency."},
	{nameAttemptFailures, KindCounter, "{failure}", []string{events.KeyPipelineName, events.KeyErrorType}, nil,
		"Attempts that failed, by type of error."},
	{nameAttemptDuration, KindHistogram, "s", byOutcome, secondsBounds,
		"How long attempts took, where a second one is possible."},
	{nameRetryStops, KindCounter, "{stop}", []string{events.KeyPipelineName, events.KeyReason}, nil,
		"Retries that ended without success."},
	{nameBudgetAvailable, KindGauge, "{attempt}", byLayer, nil,
		"Extra attempts that a retry budget would grant now; 0 if it is drained."},
	{nameBudgetLimit, KindGauge, "{attempt}", byLayer, nil,
		"Extra attempts that a retry budget grants at most."},
	{nameRejections, KindCounter, "{rejection}", []string{events.KeyPipelineName, events.KeyLayerName, events.KeyReason}, nil,
		"Calls that a layer refused."},
	{nameTimeouts, KindCounter, "{timeout}", byPlace, nil,
		"Times that a timeout's limit passed."},
	{nameFallbacks, KindCounter, "{fallback}", byOutcome, nil,
		"Fallbacks that answered a call, by whether they could."},
	{nameHedgeWins, KindCounter, "{hedge}", byPipeline, nil,
		"Hedges that succeeded before the runs that were started earlier."},
	{nameHedgeDenials, KindCounter, "{hedge}", byPipeline, nil,
		"Hedges that were due and that a budget refused."},
	{nameFlightCalls, KindCounter, "{call}", []string{events.KeyPipelineName, events.KeyFlightRole}, nil,
		"Calls with a key, by whether they led or followed another."},
	{nameState, KindUpDownCounter, "{circuit_breaker}", byState, nil,
		"Circuit breakers by state: 1 for the state that one is in, 0 for the others."},
	{nameStateTime, KindCounter, "s", byState, nil,
		"Time that a circuit breaker spent in each state."},
	{nameStateChangeTime, KindGauge, "s", byLayer, nil,
		"When a circuit breaker entered its state, in Unix time."},
	{nameNextProbeTime, KindGauge, "s", byLayer, nil,
		"When an open circuit breaker lets a probe through, in Unix time; 0 if it is not open."},
	{nameTransitions, KindCounter, "{transition}", []string{events.KeyLayerName, events.KeyState, events.KeyReason}, nil,
		"State changes of a circuit breaker, by the state it entered and why."},
	{nameFailureRatio, KindGauge, "1", byLayer, nil,
		"Share of failures in what a circuit breaker counts now."},
	{nameFailureRatioLimit, KindGauge, "", byLayer, nil,
		"Where a circuit breaker opens: a share of failures, or a number of consecutive ones."},
	{nameWindowCalls, KindGauge, "{call}", byLayer, nil,
		"Calls that a circuit breaker counts now."},
	{nameCooldown, KindGauge, "s", byLayer, nil,
		"How long a circuit breaker stays open."},
	{nameLimiterLimit, KindUpDownCounter, "{call}", byLayer, nil,
		"Calls that a limiter lets run at once."},
	{nameLimiterUsage, KindUpDownCounter, "{call}", byLayer, nil,
		"Calls that hold one of a limiter's permits now."},
	{nameLimiterQueued, KindUpDownCounter, "{call}", byLayer, nil,
		"Calls that wait for one of a limiter's permits now."},
	{nameLayerInfo, KindGauge, "", []string{events.KeyPipelineName, events.KeyLayerName, events.KeyLayerType,
		keyLayerPosition, keyLayerShared, keyLayerSettings}, nil,
		"1 for each layer of a pipeline: its place, the shared state it uses, its effective settings."},
	{nameBuildInfo, KindGauge, "", []string{keyVersion}, nil,
		"1, with the version of Telltale."},
	{nameDroppedEvents, KindCounter, "{event}", bySubscriber, nil,
		"Events that a subscriber lost: its bounded queue was full, or it could not write them."},
	{nameHandlerPanics, KindCounter, "{panic}", bySubscriber, nil,
		"Panics of a subscriber's handlers."},
}
