package otelres

import (
	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/names"
	"github.com/telltale-go/telltale/internal/readings"
	"go.opentelemetry.io/otel/attribute"
)

// layer is what is kept for one layer at its place in a pipeline, or for the state that layers share. It does not hold
// the source, which the bus holds weakly.
type layer struct {
	in       *instruments
	failures *failures // of the pipeline

	timeouts                func() *series // from their first use on, as they stand in few layers
	hedgeWins, hedgeDenials func() *series
	fallbacks               *family[events.Outcome, series]
	flights                 *family[events.FlightRole, series]
	rejections              *family[events.Reason, series]
	stops                   *family[events.Reason, series]
	transitions             families[events.State, events.Reason, series] // of a breaker's state

	time *readings.Time  // of a breaker's state
	keys *readings.Layer // of a Keyed layer, where keys are told
	info *attribute.Set  // of a layer of a pipeline

	name, layerType attribute.KeyValue
}

func newLayer(s *events.Source, in *instruments, f *failures) *layer {
	reasons, pipeline := events.Reasons(), pipelineOf(s)
	l := &layer{
		in: in, failures: f,
		name:         attribute.String(events.KeyLayerName, s.Layer()),
		layerType:    attribute.String(events.KeyLayerType, s.Type()),
		timeouts:     in.timeouts.onUse(placeOf(s)...),
		hedgeWins:    in.hedgeWins.onUse(pipeline...),
		hedgeDenials: in.hedgeDenials.onUse(pipeline...),
		fallbacks:    newSeries(in.fallbacks, events.KeyOutcome, events.Outcomes(), pipeline...),
		flights:      newSeries(in.flights, events.KeyFlightRole, events.FlightRoles(), pipeline...),
		rejections:   newSeries(in.rejections, events.KeyReason, reasons, placeOf(s)...),
		stops:        newSeries(in.stops, events.KeyReason, reasons, pipeline...),
	}
	switch {
	case s.Pipeline() != "":
		l.info = infoOf(s)
		l.openPlace(s.Type())
	case s.Type() == events.TypeBreaker:
		l.transitions = newFamilies(events.States(), func(to events.State) *family[events.Reason, series] {
			return newSeries(in.transitions, events.KeyReason, reasons, l.name, valueOf(events.KeyState, to))
		})
		for _, t := range events.Transitions() {
			l.transitions.of(t.To, t.Reason)
		}
	}
	return l
}

// openPlace makes the series of what a layer of this type may count in its pipeline, which thereby exist at zero.
func (l *layer) openPlace(layerType string) {
	for _, r := range events.RejectionReasons(layerType) {
		l.rejections.of(r)
	}
	switch layerType {
	case events.TypeRetry:
		for _, r := range events.StopReasons() {
			l.stops.of(r)
		}
	case events.TypeTimeout:
		l.timeouts()
	case events.TypeFallback:
		l.fallbacks.of(events.OutcomeFallback)
		l.fallbacks.of(events.OutcomeFailure)
	case events.TypeSingleflight:
		for _, role := range events.FlightRoles() {
			l.flights.of(role)
		}
	case events.TypeHedge:
		l.hedgeWins()
		l.hedgeDenials()
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
