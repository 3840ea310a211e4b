package otelres

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// instruments are those that are recorded to as events come. A histogram that [Config.Durations] rules out is a no-op.
type instruments struct {
	executions, attempts, failures, stops, rejections, timeouts, transitions metric.Int64Counter
	fallbacks, hedgeWins, hedgeDenials, flights                              metric.Int64Counter
	wait                                                                     metric.Float64Counter
	executionAttempts                                                        metric.Int64Histogram
	executionDuration, attemptDuration                                       metric.Float64Histogram
}

func newInstruments(meter metric.Meter, d Durations) *instruments {
	m := maker{meter}
	i := &instruments{
		executions:        m.counter(nameExecutions),
		attempts:          m.counter(nameAttempts),
		failures:          m.counter(nameAttemptFailures),
		stops:             m.counter(nameRetryStops),
		rejections:        m.counter(nameRejections),
		timeouts:          m.counter(nameTimeouts),
		transitions:       m.counter(nameTransitions),
		fallbacks:         m.counter(nameFallbacks),
		hedgeWins:         m.counter(nameHedgeWins),
		hedgeDenials:      m.counter(nameHedgeDenials),
		flights:           m.counter(nameFlightCalls),
		wait:              m.secondsCounter(nameExecutionWait),
		executionAttempts: m.countHistogram(nameExecutionAttempts),
	}
	i.executionDuration, i.attemptDuration = noop.Float64Histogram{}, noop.Float64Histogram{}
	if d.ofExecutions() {
		i.executionDuration = m.secondsHistogram(nameExecutionDuration)
	}
	if d.ofAttempts() {
		i.attemptDuration = m.secondsHistogram(nameAttemptDuration)
	}
	return i
}

// maker makes instruments as the table of metrics describes them. What the provider complains about goes to
// otel.Handle: measuring less is better than not starting.
type maker struct{ meter metric.Meter }

func (m maker) counter(name string) metric.Int64Counter {
	d := describe(name)
	i, err := m.meter.Int64Counter(name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc))
	return reported(name, i, err)
}

func (m maker) secondsCounter(name string) metric.Float64Counter {
	d := describe(name)
	i, err := m.meter.Float64Counter(name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc))
	return reported(name, i, err)
}

func (m maker) countHistogram(name string) metric.Int64Histogram {
	d := describe(name)
	i, err := m.meter.Int64Histogram(name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc),
		metric.WithExplicitBucketBoundaries(d.Bounds...))
	return reported(name, i, err)
}

func (m maker) secondsHistogram(name string) metric.Float64Histogram {
	d := describe(name)
	i, err := m.meter.Float64Histogram(name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc),
		metric.WithExplicitBucketBoundaries(d.Bounds...))
	return reported(name, i, err)
}

func (m maker) observedUpDown(name string) metric.Int64ObservableUpDownCounter {
	d := describe(name)
	i, err := m.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc))
	return reported(name, i, err)
}

func (m maker) observedSeconds(name string) metric.Float64ObservableCounter {
	d := describe(name)
	i, err := m.meter.Float64ObservableCounter(name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc))
	return reported(name, i, err)
}

func (m maker) observedCounter(name string) metric.Int64ObservableCounter {
	d := describe(name)
	i, err := m.meter.Int64ObservableCounter(name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc))
	return reported(name, i, err)
}

func (m maker) observedGauge(name string) metric.Float64ObservableGauge {
	d := describe(name)
	i, err := m.meter.Float64ObservableGauge(name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc))
	return reported(name, i, err)
}

func (m maker) observedCount(name string) metric.Int64ObservableGauge {
	d := describe(name)
	i, err := m.meter.Int64ObservableGauge(name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc))
	return reported(name, i, err)
}

func describe(name string) Metric {
	return metrics[slices.IndexFunc(metrics, func(m Metric) bool { return m.Name == name })]
}

func reported[I any](name string, i I, err error) I {
	if err != nil {
		otel.Handle(fmt.Errorf("otelres: %s: %w", name, err))
	}
	return i
}
