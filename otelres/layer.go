package otelres

import (
	"context"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/names"
	"github.com/telltale-go/telltale/internal/readings"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// layer is what is kept for one layer at its place in a pipeline, or for the state that layers share. It does not hold
// the source, which the bus holds weakly.
type layer struct {
	in       *instruments
	failures *failures // of the pipeline

	timeouts    *series
	hedges      *series // wins and denials, by pipeline
	fallbacks   *family[events.Outcome]
	flights     *family[events.FlightRole]
	rejections  *family[events.Reason]
	stops       *family[events.Reason]
	transitions families[events.State, events.Reason] // of a breaker's state
	zeros       []zero                                // the counters' series over closed attributes
	time        *readings.Time                        // of a breaker's state
	keys        *readings.Layer                       // of a Keyed layer, where keys are told
	info        *attribute.Set                        // of a layer of a pipeline

	name, layerType attribute.KeyValue
}

type zero struct {
	counter metric.Int64Counter
	series  *series
}

func newLayer(s *events.Source, in *instruments, f *failures) *layer {
	reasons, states := events.Reasons(), events.States()
	l := &layer{
		in: in, failures: f,
		name:       attribute.String(events.KeyLayerName, s.Layer()),
		layerType:  attribute.String(events.KeyLayerType, s.Type()),
		timeouts:   newSeries(placeOf(s)...),
		hedges:     newSeries(pipelineOf(s)...),
		fallbacks:  newFamily(events.KeyOutcome, events.Outcomes(), pipelineOf(s)...),
		flights:    newFamily(events.KeyFlightRole, events.FlightRoles(), pipelineOf(s)...),
		rejections: newFamily(events.KeyReason, reasons, placeOf(s)...),
		stops:      newFamily(events.KeyReason, reasons, pipelineOf(s)...),
	}
	switch {
	case s.Pipeline() != "":
		l.info = infoOf(s)
		l.openPlace(s.Type())
	case s.Type() == events.TypeBreaker:
		l.transitions = newFamilies(events.KeyState, states, events.KeyReason, reasons, l.name)
		for _, t := range events.Transitions() {
			l.zeros = append(l.zeros, zero{in.transitions, l.transitions.of(t.To, t.Reason)})
		}
	}
	return l
}

// openPlace lists what a layer of this type may count in its pipeline.
func (l *layer) openPlace(layerType string) {
	for _, r := range events.RejectionReasons(layerType) {
		l.zeros = append(l.zeros, zero{l.in.rejections, l.rejections.of(r)})
	}
	switch layerType {
	case events.TypeRetry:
		for _, r := range events.StopReasons() {
			l.zeros = append(l.zeros, zero{l.in.stops, l.stops.of(r)})
		}
	case events.TypeTimeout:
		l.zeros = append(l.zeros, zero{l.in.timeouts, l.timeouts})
	case events.TypeFallback:
		l.zeros = append(l.zeros, zero{l.in.fallbacks, l.fallbacks.of(events.OutcomeFallback)},
			zero{l.in.fallbacks, l.fallbacks.of(events.OutcomeFailure)})
	case events.TypeSingleflight:
		for _, role := range events.FlightRoles() {
			l.zeros = append(l.zeros, zero{l.in.flights, l.flights.of(role)})
		}
	case events.TypeHedge:
		l.zeros = append(l.zeros, zero{l.in.hedgeWins, l.hedges}, zero{l.in.hedgeDenials, l.hedges})
	}
}

func (l *layer) zero(ctx context.Context) {
	for _, z := range l.zeros {
		z.counter.Add(ctx, 0, z.series.add...)
	}
}

// infoOf returns the attributes that describe a layer of a pipeline.
func infoOf(s *events.Source) *attribute.Set {
	of := append(placeOf(s),
		attribute.String(events.KeyLayerType, s.Type()),
		attribute.Int(names.KeyLayerPosition, s.Position()))
	if s.Settings() != "" {
		of = append(of, attribute.String(names.KeyLayerSettings, s.Settings()))
	}
	if shared := s.Shared(); shared != nil {
		of = append(of, attribute.String(names.KeyLayerShared, shared.Layer()))
	}
	set := attribute.NewSet(of...)
	return &set
}
