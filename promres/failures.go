package promres

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
)

// failures are a pipeline's failed attempts by the class of their error. The classes are bounded, so they appear as they
// turn up.
type failures struct {
	row      *row
	vec      *vec[prometheus.Counter]
	pipeline string
	types    *events.ErrorTypes
	known    atomic.Pointer[map[string]prometheus.Counter] // by class; replaced as a whole, under mu
	mu       sync.Mutex
}

func newFailures(r *row, v *vec[prometheus.Counter], pipeline string, bounds *errorTypes) *failures {
	return &failures{row: r, vec: v, pipeline: pipeline, types: bounds.hold(r, pipeline)}
}

// of returns the counter of the error's class.
func (f *failures) of(err error) prometheus.Counter {
	class := f.types.Of(err)
	if class == "" { // a failure that came without an error
		class = events.OtherErrorType
	}
	if known := f.known.Load(); known != nil {
		if c, ok := (*known)[class]; ok {
			return c
		}
	}
	return f.make(class)
}

func (f *failures) make(class string) prometheus.Counter {
	f.mu.Lock()
	defer f.mu.Unlock()
	grown := map[string]prometheus.Counter{}
	if known := f.known.Load(); known != nil {
		if c, ok := (*known)[class]; ok {
			return c
		}
		maps.Copy(grown, *known)
	}
	c := series(f.row, f.vec, f.pipeline, label(class))
	grown[class] = c
	f.known.Store(&grown)
	return c
}

// errorTypes keeps the bound of each pipeline's error classes; pipelines with equal names share theirs as they share
// their series.
type errorTypes struct {
	mu   sync.Mutex
	held map[string]*heldTypes
}

type heldTypes struct {
	types   events.ErrorTypes
	holders int
}

func newErrorTypes() *errorTypes { return &errorTypes{held: map[string]*heldTypes{}} }

// hold returns the pipeline's bound and keeps it until the row is released.
func (t *errorTypes) hold(r *row, pipeline string) *events.ErrorTypes {
	r.keep(hold{t, []string{pipeline}})
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.held[pipeline]
	if h == nil {
		h = new(heldTypes)
		t.held[pipeline] = h
	}
	h.holders++
	return &h.types
}

func (t *errorTypes) letGo(labels []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.held[labels[0]]
	if h.holders--; h.holders == 0 {
		delete(t.held, labels[0])
	}
}
