package promres

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
)

// layer is what a layer counts into, and a shared state where it is used without a pipeline.
type layer struct {
	rejections *family[prometheus.Counter] // by reason
	stops      *family[prometheus.Counter] // by reason
	fallbacks  *family[prometheus.Counter] // by outcome
	flights    *family[prometheus.Counter] // by role
	timeouts   *family[prometheus.Counter] // one, at 0
	hedges     hedges
}

// openLayer makes what a layer counts into. What a layer of its type may publish in a pipeline starts at zero.
func (a *adapter) openLayer(r *row, s *events.Source) *layer {
	m, pipeline, name := a.metrics, label(s.Pipeline()), label(s.Layer())
	reasons := len(events.Reasons()) + 1
	l := &layer{
		rejections: newFamily(r, m.rejections, reasons, func(reason int) []string {
			return []string{pipeline, name, enumLabel[events.Reason](reason)}
		}),
		stops: newFamily(r, m.retryStops, reasons, func(reason int) []string {
			return []string{pipeline, enumLabel[events.Reason](reason)}
		}),
		timeouts: newFamily(r, m.timeouts, 1, func(int) []string { return []string{pipeline, name} }),
		fallbacks: newFamily(r, m.fallbacks, len(events.Outcomes())+1, func(outcome int) []string {
			return []string{pipeline, enumLabel[events.Outcome](outcome)}
		}),
		flights: newFamily(r, m.singleflightCalls, len(events.FlightRoles())+1, func(role int) []string {
			return []string{pipeline, enumLabel[events.FlightRole](role)}
		}),
		hedges: a.newHedges(r, pipeline),
	}
	if pipeline != "" {
		l.zero(s.Type())
	}
	return l
}

// zero makes what a layer of this type may count.
func (l *layer) zero(layerType string) {
	for _, reason := range events.RejectionReasons(layerType) {
		l.rejections.at(int(reason))
	}
	switch layerType {
	case events.TypeRetry:
		for _, reason := range events.StopReasons() {
			l.stops.at(int(reason))
		}
	case events.TypeTimeout:
		l.timeouts.at(0)
	case events.TypeFallback:
		l.fallbacks.at(int(events.OutcomeFallback))
		l.fallbacks.at(int(events.OutcomeFailure))
	case events.TypeSingleflight:
		for _, role := range events.FlightRoles() {
			l.flights.at(int(role))
		}
	case events.TypeHedge:
		l.hedges.wins.at(0)
		l.hedges.denials.at(0)
	}
}

func (a *adapter) callRejected(_ context.Context, e events.CallRejected) {
	if r := a.row(&e.Meta); r != nil && r.layer != nil {
		r.layer.rejections.at(int(e.Reason)).Inc()
		r.keys.Rejected(e.Key, e.Reason)
	}
}

func (a *adapter) retryStopped(_ context.Context, e events.RetryStopped) {
	if r := a.row(&e.Meta); r != nil && r.layer != nil {
		r.layer.stops.at(int(e.Reason)).Inc()
	}
}

func (a *adapter) timedOut(_ context.Context, e events.TimedOut) {
	if r := a.row(&e.Meta); r != nil && r.layer != nil {
		r.layer.timeouts.at(0).Inc()
	}
}

func (a *adapter) fallbackUsed(_ context.Context, e events.FallbackUsed) {
	if r := a.row(&e.Meta); r != nil && r.layer != nil {
		r.layer.fallbacks.at(int(e.Outcome)).Inc()
	}
}

func (a *adapter) flightJoined(_ context.Context, e events.FlightJoined) {
	if r := a.row(&e.Meta); r != nil && r.layer != nil {
		r.layer.flights.at(int(e.Role)).Inc()
	}
}
