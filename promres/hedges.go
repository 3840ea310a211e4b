package promres

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
)

// hedges is what a Hedge layer counts into. Both families have one series, at 0.
type hedges struct {
	wins    *family[prometheus.Counter]
	denials *family[prometheus.Counter]
}

func (a *adapter) newHedges(r *row, pipeline string) hedges {
	one := func(v *vec[prometheus.Counter]) *family[prometheus.Counter] {
		return newFamily(r, v, 1, func(int) []string { return []string{pipeline} })
	}
	return hedges{wins: one(a.metrics.hedgeWins), denials: one(a.metrics.hedgeDenials)}
}

// hedgeSettled counts the calls that a hedge won. One whose last failure is a hedge's was won by nobody.
func (a *adapter) hedgeSettled(_ context.Context, e events.HedgeSettled) {
	if r := a.row(&e.Meta); r != nil && r.layer != nil && e.Kind == events.AttemptHedge && e.Err == nil {
		r.layer.hedges.wins.at(0).Inc()
	}
}

func (a *adapter) hedgeDenied(_ context.Context, e events.HedgeDenied) {
	if r := a.row(&e.Meta); r != nil && r.layer != nil {
		r.layer.hedges.denials.at(0).Inc()
	}
}
