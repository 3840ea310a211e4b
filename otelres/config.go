package otelres

import (
	"fmt"
	"reflect"

	"github.com/telltale-go/telltale/internal/readings"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Config says where spans and metrics go and how much of them there is. The zero value sends all of both to the global
// providers.
type Config struct {
	// TracerProvider makes the spans. Nil means the global one, also if that is set later.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the instruments. Nil means the global one, also if that is set later.
	MeterProvider metric.MeterProvider
	// Pipelines tells by its name whether a pipeline, with its layers, becomes spans and metrics. Nil means that all do.
	// State that pipelines share, such as a breaker's, is told in any case. It is asked when a pipeline comes, once for it
	// and once for each layer.
	Pipelines func(name string) bool
	// OmitSingleAttempts leaves out the attempt's span in pipelines in which no second attempt is possible: it would
	// repeat the execution's.
	OmitSingleAttempts bool
	// OmitSpanEvents leaves out the span events: retry scheduled, retry stopped, call rejected, timeout fired, fallback
	// used, hedge denied, fault injected, breaker's state changed.
	OmitSpanEvents bool
	// Durations says which durations are measured. Zero means DurationsAll. The counters stay in any case.
	Durations Durations
	// Keys is for how many keys of each Keyed layer there are series of their own, resilience.keyed.*: those that come
	// first, until the layer forgets them; the others are one, _OTHER, with the calls without a key. Keys may be personal.
	// Zero means none, and at most 10000 are allowed. OpenTelemetry's SDK keeps 2000 sets of attributes of an instrument
	// unless it is told otherwise, and a breaker has one for each of its five states: 398 keys fit.
	Keys int
}

func (c Config) validate() error {
	switch {
	case isNilPointer(c.TracerProvider):
		return fmt.Errorf("otelres: Config.TracerProvider is a nil %T: leave the field out for the global one", c.TracerProvider)
	case isNilPointer(c.MeterProvider):
		return fmt.Errorf("otelres: Config.MeterProvider is a nil %T: leave the field out for the global one", c.MeterProvider)
	case c.Durations > DurationsNone:
		return fmt.Errorf("otelres: Config.Durations = %d: want DurationsAll, DurationsExecutions or DurationsNone", c.Durations)
	case c.Keys < 0 || c.Keys > readings.MaxKeys:
		return fmt.Errorf("otelres: Config.Keys = %d: want 0 (none) to %d", c.Keys, readings.MaxKeys)
	}
	return nil
}

func isNilPointer(provider any) bool {
	v := reflect.ValueOf(provider)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
