package promres

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/readings"
	"github.com/telltale-go/telltale/internal/version"
)

// adapter is one Attach: it counts the events of one bus, and is the one Collector that a Registerer gets.
type adapter struct {
	bus        *events.Bus
	durations  Durations
	trace      func(context.Context) (traceID, spanID string, ok bool) // nil: no exemplars
	by         *events.Subscriber
	metrics    *metrics
	errorTypes *errorTypes
	times      readings.Times
	keys       *readings.Keys // nil: none is told
	readings   readings.Reader
	rows       *events.Table[row]
	cancels    []func()
}

func newAdapter(bus *events.Bus, cfg Config) *adapter {
	a := &adapter{
		bus:        bus,
		durations:  cfg.Durations,
		trace:      cfg.Trace,
		by:         bus.Subscriber(),
		metrics:    newMetrics(cfg.ConstLabels, cfg.Keys > 0),
		errorTypes: newErrorTypes(),
		keys:       readings.NewKeys(cfg.Keys),
	}
	a.readings = readings.Reader{Bus: bus, Time: a.timeOf, Keys: a.keys}
	a.metrics.buildInfo.hold([]string{label(version.Built())}).Set(1)
	return a
}

// subscribe starts to count.
func (a *adapter) subscribe() {
	a.rows = events.NewTable(a.bus, a.open, a.close)
	for _, h := range handled {
		a.cancels = append(a.cancels, h.subscribe(a))
	}
}

// unsubscribe stops to count and drops every series.
func (a *adapter) unsubscribe() {
	for _, cancel := range a.cancels {
		cancel()
	}
	a.rows.Close()
}

// Describe implements [prometheus.Collector].
func (a *adapter) Describe(to chan<- *prometheus.Desc) { a.metrics.describe(to) }

// Collect implements [prometheus.Collector].
func (a *adapter) Collect(to chan<- prometheus.Metric) {
	for _, v := range a.metrics.vecs {
		v.Collect(to)
	}
	for _, m := range a.read() {
		to <- m
	}
}
