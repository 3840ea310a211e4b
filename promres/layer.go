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
	timeouts   *family[prometheus.Counter] // one, at 0
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
	}
	if pipeline == "" {
		return l
	}
	for _, reason := range events.RejectionReasons(s.Type()) {
		l.rejections.at(int(reason))
	}
	switch s.Type() {
	case events.TypeRetry:
		for _, reason := range events.StopReasons() {
			l.stops.at(int(reason))
		}
	case events.TypeTimeout:
		l.timeouts.at(0)
	}
	return l
}

func (a *adapter) callRejected(_ context.Context, e events.CallRejected) {
	if r := a.row(e.Meta); r != nil && r.layer != nil {
		r.layer.rejections.at(int(e.Reason)).Inc()
	}
}

func (a *adapter) retryStopped(_ context.Context, e events.RetryStopped) {
	if r := a.row(e.Meta); r != nil && r.layer != nil {
		r.layer.stops.at(int(e.Reason)).Inc()
	}
}

func (a *adapter) timedOut(_ context.Context, e events.TimedOut) {
	if r := a.row(e.Meta); r != nil && r.layer != nil {
		r.layer.timeouts.at(0).Inc()
	}
}
