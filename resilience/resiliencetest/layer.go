package resiliencetest

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// TestTypedLayer checks, in a subtest each, that a typed layer keeps what every layer must. new makes another layer each
// time, configured such that it hands on what it is given: a cache is empty, a fallback has nothing to answer for. It is
// checked that the layer describes itself the same way always; hands on successes, failures and failing values (see
// PipelineConfig.Classify) unchanged; shows the context's values, the call's key and the attempt to what is inside; lets
// panics, Goexit and cancellations through, so that each gate inside and outside settles once; runs what is inside one at
// a time and not after it has returned; mixes up neither concurrent calls (run it with -race) nor pipelines; leaves no
// goroutine behind; and may be used outside of synctest bubbles and in several one after another, as with [TestGate].
//
// What is inside may run on another goroutine: then a panic may arrive as a *PanicError with its value, and Goexit as
// ErrGoexit.
func TestTypedLayer[T any](t *testing.T, new func() resilience.TypedLayer[T]) {
	t.Helper()
	TestLayer[T](t, func() resilience.Layer { return new() })
}

// TestLayer is [TestTypedLayer] for whatever fits a pipeline of T: an Around, a gate, or a layer of this library as it is
// configured.
func TestLayer[T any](t *testing.T, new func() resilience.Layer) {
	t.Helper()
	for _, c := range layerChecks[T]() {
		t.Run(c.name, func(t *testing.T) { c.run(layerKit[T]{kit{t, t}, new}) })
	}
}

type layerKit[T any] struct {
	kit
	new func() resilience.Layer
}

type layerCheck[T any] struct {
	name string
	run  func(layerKit[T])
}

func layerChecks[T any]() []layerCheck[T] {
	return []layerCheck[T]{
		{"describes itself the same way always", layerKit[T].describes},
		{"hands on a success", layerKit[T].handsOnSuccess},
		{"hands on a failure", layerKit[T].handsOnFailure},
		{"hands on a failing value", layerKit[T].handsOnFailingValue},
		{"shows the context's values", layerKit[T].showsValues},
		{"passes key and attempt on", layerKit[T].passesCall},
		{"lets a panic through", layerKit[T].letsPanicThrough},
		{"lets Goexit through", layerKit[T].letsGoexitThrough},
		{"lets a cancellation through", layerKit[T].letsCancellationThrough},
		{"runs one at a time, before it returns", layerKit[T].runsOneAtATime},
		{"keeps calls apart", layerKit[T].keepsCallsApart},
		{"keeps pipelines apart", layerKit[T].keepsPipelinesApart},
		{"leaves no goroutine", layerKit[T].leavesNoGoroutine},
		{"serves bubbles one after another", layerKit[T].servesBubbles},
	}
}

// site is a pipeline with the layer between two gates that note what they are told.
type site[T any] struct {
	*resilience.Pipeline[T]
	outer, inner *spy
}

func (k layerKit[T]) site(change func(*resilience.PipelineConfig[T])) site[T] {
	return k.siteOf(k.new(), change)
}

func (k layerKit[T]) siteOf(layer resilience.Layer, change func(*resilience.PipelineConfig[T])) site[T] {
	s := site[T]{outer: new(spy), inner: new(spy)}
	cfg := resilience.PipelineConfig[T]{Name: "kit", Layers: []resilience.Layer{s.outer, layer, s.inner}, Bus: events.NewBus()}
	if change != nil {
		change(&cfg)
	}
	p, err := resilience.NewPipeline(cfg)
	if err != nil {
		k.errorf("it does not fit a pipeline: %v", err)
		p = resilience.PassThrough[T]()
	}
	s.Pipeline = p
	return s
}

// settled checks that each gate learned once how its call ended, and in which way.
func (s site[T]) settled(k layerKit[T], want ...resilience.OutcomeKind) {
	for _, g := range []struct {
		where string
		spy   *spy
	}{{"outside", s.outer}, {"inside", s.inner}} {
		calls, _, outcomes, each := g.spy.read()
		if len(calls) != 1 || !each {
			k.errorf("a gate %s admitted %d calls, and settled %d: each is settled once", g.where, len(calls), len(outcomes))
			continue
		}
		fits := false
		for _, kind := range want {
			fits = fits || outcomes[0].Kind == kind
		}
		if !fits {
			k.errorf("a gate %s learned that the call %v (%v), want %v", g.where, outcomes[0].Kind, outcomes[0].Err, want[0])
		}
	}
}

func (k layerKit[T]) describes() {
	layer := k.new()
	first := layer.LayerInfo()
	s := k.siteOf(layer, nil)
	for range 5 {
		_ = s.Run(context.Background(), succeed)
	}
	if now := layer.LayerInfo(); !reflect.DeepEqual(first, now) {
		k.errorf("LayerInfo changes: %+v at first, then %+v; its parts become labels", first, now)
	}
	if other := k.new().LayerInfo(); other.Name != first.Name || other.Type != first.Type {
		k.errorf("another layer of the same making has another name or type: %+v, %+v", first, other)
	}
}

func (k layerKit[T]) handsOnSuccess() {
	k.guarded(func() {
		s, op := k.site(nil), Script(Returns(sample[T]()))
		v, err := s.Do(context.Background(), op.Do)
		if err != nil || !reflect.DeepEqual(v, sample[T]()) {
			k.errorf("the operation returned %v, the caller gets %v, %v", sample[T](), v, err)
		}
		if op.Runs() != 1 {
			k.errorf("the operation ran %d times, want once", op.Runs())
		}
		s.settled(k, resilience.Succeeded)
	})
}

func (k layerKit[T]) handsOnFailure() {
	k.guarded(func() {
		s := k.site(nil)
		if _, err := s.Do(context.Background(), Script(Fails[T](errKit)).Do); !errors.Is(err, errKit) {
			k.errorf("the operation failed with %v, the caller gets %v", errKit, err)
		}
		s.settled(k, resilience.Failed)
	})
}

func (k layerKit[T]) handsOnFailingValue() {
	k.guarded(func() {
		s := k.site(func(c *resilience.PipelineConfig[T]) {
			c.Classify = func(T, error) error { return errKit }
			c.Discard = func(T) error { return nil }
		})
		v, err := s.Do(context.Background(), Script(Returns(sample[T]())).Do)
		if err != nil || !reflect.DeepEqual(v, sample[T]()) {
			k.errorf("of the failing value %v the caller gets %v, %v: hand on value and error as they are", sample[T](), v, err)
		}
		s.settled(k, resilience.Failed)
	})
}

// sample returns a value of T that is not the zero value, as far as there is one to be had.
func sample[T any]() T {
	var v T
	fillIn(reflect.ValueOf(&v).Elem())
	return v
}

func fillIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(7)
	case reflect.String:
		v.SetString("value")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillIn(v.Field(i))
			}
		}
	case reflect.Interface:
		if text := reflect.ValueOf("value"); text.Type().Implements(v.Type()) {
			v.Set(text)
		}
	}
}
