package otelres

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/telltale-go/telltale/events"
	"go.opentelemetry.io/otel/attribute"
)

// failures knows the classes of errors of all pipelines of one name: they share series, so they share the bound on how
// many there may be.
type failures struct {
	counter  *counter
	pipeline attribute.KeyValue
	types    events.ErrorTypes
	mu       sync.Mutex                         // guards changes of series
	series   atomic.Pointer[map[string]*series] // by class; replaced as a whole
}

// class returns the bounded class of an error. A failure without one is _OTHER.
func (f *failures) class(err error) string {
	if class := f.types.Of(err); class != "" {
		return class
	}
	return events.OtherErrorType
}

// of returns the series of a class.
func (f *failures) of(class string) *series {
	if known := f.series.Load(); known != nil {
		if s := (*known)[class]; s != nil {
			return s
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	grown := map[string]*series{}
	if known := f.series.Load(); known != nil {
		if s := (*known)[class]; s != nil {
			return s
		}
		maps.Copy(grown, *known)
	}
	s := f.counter.of(f.pipeline, attribute.String(events.KeyErrorType, class))
	grown[class] = s
	f.series.Store(&grown)
	return s
}

// failuresByName keeps the failures of each pipeline's name for as long as their series are told, so that a pipeline that is
// made anew gets no new allowance of classes.
type failuresByName struct {
	mu    sync.Mutex
	names map[string]*failures
}

func (b *failuresByName) of(pipeline string, c *counter) *failures {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.names[pipeline]
	if f == nil {
		if b.names == nil {
			b.names = map[string]*failures{}
		}
		f = &failures{counter: c, pipeline: attribute.String(events.KeyPipelineName, pipeline)}
		b.names[pipeline] = f
	}
	return f
}
