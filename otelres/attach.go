package otelres

import (
	"errors"
	"sync"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/readings"
	"github.com/telltale-go/telltale/internal/version"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// Attach makes spans and metrics of what happens on bus, as cfg says, until detach is called. It refuses a nil bus, bad
// options, and a provider that is attached to the bus already ([ErrAttached]).
//
// After detach nothing more is heard. What has begun is still ended: spans, and the counts of running calls. The provider
// goes on telling what was counted, so that its Shutdown sends the last of it, and an adapter that is attached to the same
// provider goes on from there. It tells nothing of the bus any more. Calling detach again is harmless.
func Attach(bus *events.Bus, cfg Config) (detach func(), err error) {
	if bus == nil {
		return nil, errors.New("otelres: nil bus")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	release, err := take(bus, cfg)
	if err != nil {
		return nil, err
	}
	var cancels []func()
	undo := sync.OnceFunc(func() {
		defer release()
		for _, cancel := range cancels {
			cancel()
		}
	})
	attached := false
	defer func() {
		if !attached { // a provider, or a bus that is not one, panics
			undo()
		}
	}()
	attach(bus, cfg, func(cancel func()) { cancels = append(cancels, cancel) })
	attached = true
	return undo, nil
}

// MustAttach is [Attach], and panics with its error.
func MustAttach(bus *events.Bus, cfg Config) (detach func()) {
	detach, err := Attach(bus, cfg)
	if err != nil {
		panic(err)
	}
	return detach
}

// adapter is one attachment.
type adapter struct {
	tracer             trace.Tracer // nil if spans go nowhere
	spanEvents         bool
	omitSingleAttempts bool
	pipelines          func(string) bool // nil: all
	in                 *instruments
	sources            *events.Table[source]
	times              readings.Times
	keys               *readings.Keys // nil: none is told
	readings           readings.Reader
}

// source is what is kept for one live source: of a pipeline, or of a layer.
type source struct {
	pipeline *pipeline
	layer    *layer
}

// attach hands over what undoes it. Where spans and metrics go nowhere it does nothing.
func attach(bus *events.Bus, cfg Config, onDetach func(cancel func())) {
	tracer, meter := cfg.tracer(), cfg.meter()
	if tracer == nil && meter == nil {
		return
	}
	if meter == nil {
		meter = metricnoop.Meter{}
	}
	a := &adapter{
		tracer:             tracer,
		spanEvents:         tracer != nil && !cfg.OmitSpanEvents,
		omitSingleAttempts: cfg.OmitSingleAttempts,
		pipelines:          cfg.Pipelines,
		in:                 newInstruments(meter, cfg.Durations),
		keys:               readings.NewKeys(cfg.Keys),
	}
	a.readings = readings.Reader{Bus: bus, Time: a.timeOf, Keys: a.keys}
	for _, s := range a.subscribe(bus) {
		onDetach(s.cancel)
	}
	if cancel := a.observe(meter); cancel != nil {
		onDetach(cancel)
	}
}

func (c Config) tracer() trace.Tracer {
	provider := c.TracerProvider
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	t := provider.Tracer(scope, trace.WithInstrumentationVersion(version.Built()))
	if _, off := t.(tracenoop.Tracer); off {
		return nil
	}
	return t
}

func (c Config) meter() metric.Meter {
	provider := c.MeterProvider
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	m := provider.Meter(scope, metric.WithInstrumentationVersion(version.Built()))
	if _, off := m.(metricnoop.Meter); off {
		return nil
	}
	return m
}

func (a *adapter) open(s *events.Source) *source {
	if a.pipelines != nil && s.Pipeline() != "" && !a.pipelines(s.Pipeline()) {
		return nil
	}
	f := a.in.pipelines.of(s.Pipeline(), a.in.failures)
	if s.Layer() == "" {
		return &source{pipeline: newPipeline(s, a.in, f)}
	}
	l := newLayer(s, a.in, f)
	l.keys = a.keys.Open(s)
	if l.transitions != nil {
		l.time = a.times.Open(s.Layer())
	}
	return &source{layer: l}
}

func (a *adapter) drop(_ *events.Source, s *source) {
	if s.layer == nil {
		return
	}
	s.layer.keys.Drop()
	if s.layer.time != nil {
		s.layer.time.Drop()
	}
}
