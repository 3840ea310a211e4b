package otelres_test

import (
	"context"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/embedded"
)

// uniqueMeters counts the observations that repeat a series within one collection, which the API forbids and the SDK
// does not tell.
type uniqueMeters struct {
	metric.MeterProvider
	duplicates *int
}

func (u uniqueMeters) Meter(name string, o ...metric.MeterOption) metric.Meter {
	return uniqueMeter{u.MeterProvider.Meter(name, o...), u.duplicates}
}

type uniqueMeter struct {
	metric.Meter
	duplicates *int
}

func (u uniqueMeter) RegisterCallback(f metric.Callback, of ...metric.Observable) (metric.Registration, error) {
	return u.Meter.RegisterCallback(func(ctx context.Context, to metric.Observer) error {
		return f(ctx, &uniqueObserver{to: to, duplicates: u.duplicates, seen: map[observation]bool{}})
	}, of...)
}

type observation struct {
	instrument any
	attributes string
}

type uniqueObserver struct {
	embedded.Observer
	to         metric.Observer
	duplicates *int
	seen       map[observation]bool
}

func (u *uniqueObserver) ObserveInt64(i metric.Int64Observable, v int64, o ...metric.ObserveOption) {
	u.note(i, o)
	u.to.ObserveInt64(i, v, o...)
}

func (u *uniqueObserver) ObserveFloat64(i metric.Float64Observable, v float64, o ...metric.ObserveOption) {
	u.note(i, o)
	u.to.ObserveFloat64(i, v, o...)
}

func (u *uniqueObserver) note(instrument any, o []metric.ObserveOption) {
	config := metric.NewObserveConfig(o)
	set := config.Attributes()
	key := observation{instrument, text(set)}
	if u.seen[key] {
		*u.duplicates++
	}
	u.seen[key] = true
}
