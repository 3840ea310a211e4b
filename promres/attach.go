package promres

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/readings"
)

// Config says where the metrics go. Its zero value is ready.
type Config struct {
	// Registerer gets the metrics. Nil means [prometheus.DefaultRegisterer].
	Registerer prometheus.Registerer
	// ConstLabels are on every series. Two buses on one Registerer need them, with the same names and different values; a
	// Registerer remembers the names for good, so they cannot be others at a later Attach.
	ConstLabels prometheus.Labels
	// Durations tells which durations have histograms, classic and native at once. Zero means DurationsAll.
	Durations Durations
	// Trace returns the ids of the sampled span in a context; false: there is none. With it, durations carry exemplars with
	// trace_id and span_id, those of the call and of the attempt if another adapter makes such spans. Nil means no
	// exemplars. It is otelres.SampledTraceIDs for OpenTelemetry. It is called inside users' calls, from many goroutines at
	// once, and must not block. A scrape in text shows exemplars only in the OpenMetrics format.
	Trace func(ctx context.Context) (traceID, spanID string, ok bool)
	// Keys is for how many keys of each Keyed layer there are series of their own, resilience_keyed_*: those that come first,
	// until the layer forgets them; the others are one, _OTHER, with the calls without a key. Keys may be personal. Zero
	// means none, and at most 10000 are allowed: a key has up to eight series.
	Keys int
}

// Attach registers the metrics of what lives on the bus, and of what comes, until detach is called. Detach takes every
// series out of the Registerer; it may be called at any time, and again.
//
// It is an error if the bus is nil, if the configuration is wrong, or if the Registerer refuses: it has the same bus
// already ([ErrAttached]), or another bus under the same ConstLabels, or metrics with our names. Nothing stays registered
// then.
func Attach(bus *events.Bus, cfg Config) (detach func(), err error) {
	if bus == nil {
		return nil, errors.New("promres: nil bus: pass events.Default() or the bus that the pipelines were built with")
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	a := newAdapter(bus, cfg)
	if err := prometheus.NewRegistry().Register(a); err != nil { // an empty registry refuses only what is our own fault
		return nil, fmt.Errorf("promres: Config.ConstLabels: %w", err)
	}
	a.subscribe()
	unregister, err := register(cfg.Registerer, a)
	if err != nil {
		a.unsubscribe()
		return nil, fmt.Errorf("promres: %w", err)
	}
	return sync.OnceFunc(func() {
		unregister()
		a.unsubscribe()
	}), nil
}

// register gives a Registerer the mark of the bus, then the metrics: both, or none.
func register(to prometheus.Registerer, a *adapter) (unregister func(), err error) {
	mark := newMark(a.bus)
	if err := to.Register(mark); errors.As(err, new(prometheus.AlreadyRegisteredError)) {
		return nil, ErrAttached
	} else if err != nil {
		return nil, fmt.Errorf("the Registerer refuses: %w", err)
	}
	if err := to.Register(a); err != nil {
		to.Unregister(mark)
		return nil, fmt.Errorf("the Registerer has metrics with our names, the program's or those of a bus under the same "+
			"ConstLabels: %w", err)
	}
	return func() {
		to.Unregister(a)
		to.Unregister(mark)
	}, nil
}

// MustAttach is [Attach] for main: it panics where Attach returns an error.
func MustAttach(bus *events.Bus, cfg Config) (detach func()) {
	detach, err := Attach(bus, cfg)
	if err != nil {
		panic(err)
	}
	return detach
}

func (c Config) withDefaults() Config {
	if c.Registerer == nil {
		c.Registerer = prometheus.DefaultRegisterer
	}
	if c.Durations == 0 {
		c.Durations = DurationsAll
	}
	return c
}

// check refuses what would fail later than at Attach.
func (c Config) check() error {
	if v := reflect.ValueOf(c.Registerer); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("promres: Config.Registerer is a nil %T: leave the field out for the default one", c.Registerer)
	}
	if c.Durations > DurationsNone {
		return fmt.Errorf("promres: Config.Durations: %s is not one of all, executions, none", c.Durations)
	}
	if c.Keys < 0 || c.Keys > readings.MaxKeys {
		return fmt.Errorf("promres: Config.Keys = %d: must be 0 (none) to %d", c.Keys, readings.MaxKeys)
	}
	if _, ok := c.ConstLabels["le"]; ok {
		return errors.New(`promres: Config.ConstLabels: "le" is the label of histogram buckets`)
	}
	return nil
}
