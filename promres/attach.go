package promres

import (
	"errors"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
)

// Config says where the metrics go. Its zero value is ready.
type Config struct {
	// Registerer gets the metrics. Nil means [prometheus.DefaultRegisterer].
	Registerer prometheus.Registerer
	// ConstLabels are on every series. Two buses on one Registerer need them, with the same names and different values.
	ConstLabels prometheus.Labels
	// Durations tells which durations have histograms, classic and native at once. Zero means DurationsAll.
	Durations Durations
}

// Attach registers the metrics of what lives on the bus, and of what comes, until detach is called. Detach takes every
// series out of the Registerer; it may be called at any time, and again.
//
// It is an error if the bus is nil, if the configuration is wrong, or if the Registerer refuses: it has the same bus
// already, or another bus under the same ConstLabels, or metrics with our names. Nothing stays registered then.
func Attach(bus *events.Bus, cfg Config) (detach func(), err error) {
	if bus == nil {
		return nil, errors.New("promres: nil bus: pass events.Default() or the bus that the pipelines were built with")
	}
	if cfg.Registerer == nil {
		cfg.Registerer = prometheus.DefaultRegisterer
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Durations == 0 {
		cfg.Durations = DurationsAll
	}
	a := newAdapter(bus, cfg)
	if err := prometheus.NewRegistry().Register(a); err != nil { // in an empty registry only our own faults can fail
		return nil, fmt.Errorf("promres: Config.ConstLabels: %w", err)
	}
	a.subscribe()
	if err := cfg.Registerer.Register(a); err != nil {
		a.unsubscribe()
		if errors.As(err, new(prometheus.AlreadyRegisteredError)) {
			return nil, fmt.Errorf("promres: the bus is attached to this Registerer already: %w", err)
		}
		return nil, fmt.Errorf("promres: the Registerer refuses the metrics; it has this bus already, or a second bus "+
			"without ConstLabels of its own, or other metrics with our names: %w", err)
	}
	return sync.OnceFunc(func() {
		cfg.Registerer.Unregister(a)
		a.unsubscribe()
	}), nil
}

// MustAttach is [Attach] for main: it panics where Attach returns an error.
func MustAttach(bus *events.Bus, cfg Config) (detach func()) {
	detach, err := Attach(bus, cfg)
	if err != nil {
		panic(err)
	}
	return detach
}

// check refuses what would fail later than at Attach.
func (c Config) check() error {
	if c.Durations > DurationsNone {
		return fmt.Errorf("promres: Config.Durations: %s is not one of all, executions, none", c.Durations)
	}
	if _, ok := c.ConstLabels["le"]; ok {
		return errors.New(`promres: Config.ConstLabels: "le" is the label of histogram buckets`)
	}
	return nil
}
