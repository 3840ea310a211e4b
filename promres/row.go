package promres

import (
	"strconv"
	"sync"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/readings"
)

// row is what one source counts into. It must not hold the source, which the bus holds weakly.
type row struct {
	calls   *calls          // a pipeline's, else nil
	layer   *layer          // a layer's or a shared state's, else nil
	breaker *breaker        // the state of a circuit breaker's, else nil
	keys    *readings.Layer // of a Keyed layer, where keys are told, else nil

	mu    sync.Mutex // guards what follows
	holds []hold
	gone  bool
}

// hold is something shared that the row keeps alive, a series most often.
type hold struct {
	from   interface{ letGo(labels []string) }
	labels []string
}

// open makes a source's row. What has closed label sets starts at zero.
func (a *adapter) open(s *events.Source) *row {
	r := new(row)
	if s.Layer() == "" {
		r.calls = a.openCalls(r, s)
		return r
	}
	r.layer, r.keys = a.openLayer(r, s), a.keys.Open(s)
	if s.Pipeline() == "" {
		if s.Type() == events.TypeBreaker {
			r.breaker = a.openBreaker(r, s)
		}
		return r
	}
	var shared string
	if state := s.Shared(); state != nil {
		shared = state.Layer()
	}
	series(r, a.metrics.layerInfo, label(s.Pipeline()), label(s.Layer()), label(s.Type()), strconv.Itoa(s.Position()),
		label(shared), label(s.Settings())).Set(1)
	return r
}

// close lets go of all that the row holds. Afterwards it takes nothing more.
func (a *adapter) close(_ *events.Source, r *row) {
	r.keys.Drop()
	if r.breaker != nil {
		r.breaker.time.Drop()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.holds {
		h.from.letGo(h.labels)
	}
	r.holds, r.gone = nil, true
}

// keep adds what the row lets go of when it is closed. Its series are kept by themselves.
func (r *row) keep(h hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds = append(r.holds, h)
}

// row returns what the source of an event counts into; nil for events that are not to be counted: those of calls that a
// subscriber makes, and of sources that are gone.
func (a *adapter) row(m *events.Meta) *row {
	if m.Nested {
		return nil
	}
	return a.rows.Get(m.Source)
}

// series returns the series of v with these label values, held until the row is closed.
func series[M any](r *row, v *vec[M], labels ...string) M {
	r.mu.Lock()
	defer r.mu.Unlock()
	return seriesLocked(r, v, labels)
}

func seriesLocked[M any](r *row, v *vec[M], labels []string) M {
	if r.gone {
		return v.nowhere
	}
	r.holds = append(r.holds, hold{v, labels})
	return v.hold(labels)
}

// enumLabel is the label value of an enum's value; 0, which is none, becomes _OTHER.
func enumLabel[E interface {
	~uint8
	String() string
}](value int) string {
	if value == 0 {
		return events.OtherErrorType
	}
	return E(value).String()
}

// label makes a name fit for a label value.
func label(name string) string { return readings.Label(name) }
