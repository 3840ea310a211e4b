package otelres

import (
	"fmt"

	"github.com/telltale-go/telltale/internal/names"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// instruments are what events are recorded to as they come. A histogram that [Config.Durations] rules out is nil.
type instruments struct {
	*counts
	executionAttempts                  metric.Int64Histogram
	executionDuration, attemptDuration metric.Float64Histogram
}

func newInstruments(meter metric.Meter, d Durations) *instruments {
	m := maker{meter: meter}
	i := &instruments{
		counts:            countsOf(meter),
		executionAttempts: m.countHistogram(names.ExecutionAttempts),
	}
	if d.ofExecutions() {
		i.executionDuration = m.secondsHistogram(names.ExecutionDuration)
	}
	if d.ofAttempts() {
		i.attemptDuration = m.secondsHistogram(names.AttemptDuration)
	}
	return i
}

// maker makes instruments as the table of metrics describes them. What the provider complains about goes to
// otel.Handle: measuring less is better than not starting.
type maker struct {
	meter    metric.Meter
	observed *[]metric.Observable // gets those that are read at a collection
}

func (m maker) countHistogram(i names.ID) metric.Int64Histogram {
	d := i.Of()
	made, err := m.meter.Int64Histogram(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc),
		metric.WithExplicitBucketBoundaries(d.Bounds...))
	return reported(d.Name, made, err)
}

func (m maker) secondsHistogram(i names.ID) metric.Float64Histogram {
	d := i.Of()
	made, err := m.meter.Float64Histogram(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc),
		metric.WithExplicitBucketBoundaries(d.Bounds...))
	return reported(d.Name, made, err)
}

func (m maker) observedUpDown(i names.ID) metric.Int64ObservableUpDownCounter {
	d := i.Of()
	made, err := m.meter.Int64ObservableUpDownCounter(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc))
	return observable(m, d.Name, made, err)
}

func (m maker) observedSeconds(i names.ID) metric.Float64ObservableCounter {
	d := i.Of()
	made, err := m.meter.Float64ObservableCounter(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc))
	return observable(m, d.Name, made, err)
}

func (m maker) observedCounter(i names.ID) metric.Int64ObservableCounter {
	d := i.Of()
	made, err := m.meter.Int64ObservableCounter(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc))
	return observable(m, d.Name, made, err)
}

func (m maker) observedGauge(i names.ID) metric.Float64ObservableGauge {
	d := i.Of()
	made, err := m.meter.Float64ObservableGauge(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc))
	return observable(m, d.Name, made, err)
}

func (m maker) observedCount(i names.ID) metric.Int64ObservableGauge {
	d := i.Of()
	made, err := m.meter.Int64ObservableGauge(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Doc))
	return observable(m, d.Name, made, err)
}

func reported[I any](name string, i I, err error) I {
	if err != nil {
		otel.Handle(fmt.Errorf("otelres: %s: %w", name, err))
	}
	return i
}

func observable[I metric.Observable](m maker, name string, i I, err error) I {
	*m.observed = append(*m.observed, i)
	return reported(name, i, err)
}
