package otelres

import (
	"slices"
	"sync/atomic"

	"github.com/telltale-go/telltale/events"
	"go.opentelemetry.io/otel/attribute"
)

// enum is what the values of package events that become attributes have in common.
type enum interface {
	~uint8
	String() string
}

// family is what is kept by the value of one enum. Each V is made at its first use.
type family[E enum, V any] struct {
	open func(E) *V
	made []atomic.Pointer[V] // by value
}

// newFamily may call open several times for a value.
func newFamily[E enum, V any](values []E, open func(E) *V) *family[E, V] {
	return &family[E, V]{open, make([]atomic.Pointer[V], len(values)+1)}
}

// newSeries is a counter's family of series that differ in one attribute.
func newSeries[E enum](c *counter, key string, values []E, fixed ...attribute.KeyValue) *family[E, series] {
	return newFamily(values, func(v E) *series { return c.of(append(slices.Clone(fixed), valueOf(key, v))...) })
}

// of returns what is kept for a value; one that the enum does not have, zero included, is _OTHER.
func (f *family[E, V]) of(v E) *V {
	if int(v) >= len(f.made) {
		v = 0
	}
	if kept := f.made[v].Load(); kept != nil {
		return kept
	}
	kept := f.open(v)
	f.made[v].Store(kept)
	return kept
}

// families are a family for each value of another enum.
type families[E, F enum, V any] []*family[F, V]

func newFamilies[E, F enum, V any](values []E, open func(E) *family[F, V]) families[E, F, V] {
	all := make(families[E, F, V], len(values)+1)
	for v := range all {
		all[v] = open(E(v))
	}
	return all
}

// of returns what is kept for two values, treating those that the enums do not have as [family.of] does.
func (f families[E, F, V]) of(v E, inner F) *V {
	if int(v) >= len(f) {
		v = 0
	}
	return f[v].of(inner)
}

// valueOf returns the attribute that has a value of an enum.
func valueOf[E enum](key string, v E) attribute.KeyValue { return attribute.String(key, textOf(v)) }

func textOf[E enum](v E) string {
	if v == 0 {
		return events.OtherErrorType
	}
	return v.String()
}

// placeOf returns the attributes that tell where a source stands: its pipeline, unless it is shared state, and its
// layer, unless it is a pipeline.
func placeOf(s *events.Source) []attribute.KeyValue {
	at := pipelineOf(s)
	if s.Layer() != "" {
		at = append(at, attribute.String(events.KeyLayerName, s.Layer()))
	}
	return at
}

func pipelineOf(s *events.Source) []attribute.KeyValue {
	if s.Pipeline() == "" {
		return nil
	}
	return []attribute.KeyValue{attribute.String(events.KeyPipelineName, s.Pipeline())}
}
