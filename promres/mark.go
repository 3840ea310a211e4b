package promres

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
)

// ErrAttached: the Registerer has this bus already, and would count every call twice.
var ErrAttached = errors.New("the bus is attached to this Registerer already")

// mark is a Collector without series that stands for a bus: a Registerer takes each one once, whatever the constant
// labels of the metrics are.
type mark struct{ desc *prometheus.Desc }

func newMark(bus *events.Bus) mark {
	return mark{prometheus.NewDesc("resilience_attached", "Stands for a bus; it has no series.", nil,
		prometheus.Labels{"bus": fmt.Sprintf("%p", bus)})}
}

// Describe implements [prometheus.Collector].
func (m mark) Describe(to chan<- *prometheus.Desc) { to <- m.desc }

// Collect implements [prometheus.Collector].
func (m mark) Collect(chan<- prometheus.Metric) {}
