package otelres

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/telltale-go/telltale/events"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// series is one set of attributes, prepared so that recording computes and allocates nothing.
type series struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

func newSeries(attributes ...attribute.KeyValue) *series {
	o := metric.WithAttributeSet(attribute.NewSet(attributes...))
	return &series{[]metric.AddOption{o}, []metric.RecordOption{o}}
}

// count adds 1 to a counter.
func (s *series) count(ctx context.Context, c metric.Int64Counter) {
	if c.Enabled(ctx) {
		c.Add(ctx, 1, s.add...)
	}
}

// enum is what the values of package events that become attributes have in common.
type enum interface {
	~uint8
	String() string
}

// family is the series that differ in the value of one enum. Each is made at its first use.
type family[E enum] struct {
	key   string
	fixed []attribute.KeyValue
	made  []atomic.Pointer[series] // by value
}

func newFamily[E enum](key string, values []E, fixed ...attribute.KeyValue) *family[E] {
	return &family[E]{key: key, fixed: fixed, made: make([]atomic.Pointer[series], len(values)+1)}
}

// of returns the series of a value; one that the enum does not have, zero included, is _OTHER.
func (f *family[E]) of(v E) *series {
	if int(v) >= len(f.made) {
		v = 0
	}
	if s := f.made[v].Load(); s != nil {
		return s
	}
	s := newSeries(append(slices.Clone(f.fixed), attribute.String(f.key, textOf(v)))...)
	f.made[v].Store(s)
	return s
}

// families are a family for each value of another enum.
type families[E, F enum] []*family[F]

func newFamilies[E, F enum](key string, values []E, innerKey string, inner []F, fixed ...attribute.KeyValue) families[E, F] {
	all := make(families[E, F], len(values)+1)
	for v := range all {
		all[v] = newFamily(innerKey, inner, append(slices.Clone(fixed), attribute.String(key, textOf(E(v))))...)
	}
	return all
}

// of returns the series of two values, treating those that the enums do not have as [family.of] does.
func (f families[E, F]) of(v E, inner F) *series {
	if int(v) >= len(f) {
		v = 0
	}
	return f[v].of(inner)
}

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
