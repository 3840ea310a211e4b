package otelres

import "github.com/telltale-go/telltale/internal/names"

// Every name that this package alone gives to telemetry stands in this file. Keys that events have as well are those of
// package events, what is measured is internal/names's table.

// scope is the name of the tracer and of the meter.
const scope = "github.com/telltale-go/telltale/otelres"

// Keys that no event has.
const (
	keyRetryDelay     = "resilience.retry.delay_s"
	keyRetryHinted    = "resilience.retry.hinted"
	keyBackoff        = "resilience.execution.backoff_s"
	keyQueued         = "resilience.execution.queued_s"
	keyTimeoutLimit   = "resilience.timeout.limit_s"
	keyFaultDelay     = "resilience.chaos.delay_s"
	attemptSpanSuffix = " attempt" // behind the pipeline's name, which is the execution span's
	spanEventPrefix   = "resilience."
)

// Names of span events.
const (
	spanEventRetryScheduled = spanEventPrefix + "retry.scheduled"
	spanEventRetryStopped   = spanEventPrefix + "retry.stopped"
	spanEventRejected       = spanEventPrefix + "call.rejected"
	spanEventTimedOut       = spanEventPrefix + "timeout.fired"
	spanEventStateChanged   = spanEventPrefix + "circuit_breaker.state_changed"
	spanEventFallbackUsed   = spanEventPrefix + "fallback.used"
	spanEventHedgeDenied    = spanEventPrefix + "hedge.denied"
	spanEventFault          = spanEventPrefix + "fault.injected"
)

// Kind is a metric's kind.
type Kind string

const (
	KindCounter       = Kind(names.Counter)
	KindUpDownCounter = Kind(names.UpDownCounter)
	KindGauge         = Kind(names.Gauge)
	KindHistogram     = Kind(names.Histogram)
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
func Metrics() []Metric {
	all := make([]Metric, 0, names.Count)
	for _, m := range names.All() {
		all = append(all, Metric{m.Name, Kind(m.Kind), m.Unit, m.Attributes, m.Bounds, m.Doc})
	}
	return all
}
