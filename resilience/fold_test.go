package resilience_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// counting is a gate of the user's: it counts what it has admitted and not settled.
type counting struct {
	name        string
	refuse      error
	mu          sync.Mutex // guards what follows
	outstanding int
	outcomes    []resilience.Outcome
}

func (c *counting) LayerInfo() resilience.LayerInfo {
	return resilience.LayerInfo{Name: c.name, Type: "counting"}
}

func (c *counting) Admit(context.Context, resilience.Call) (resilience.Permit, error) {
	if c.refuse != nil {
		return resilience.Permit{}, c.refuse
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outstanding++
	return resilience.Permit{}, nil
}

func (c *counting) Settle(_ context.Context, _ resilience.Call, _ resilience.Permit, o resilience.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outstanding--
	c.outcomes = append(c.outcomes, o)
}

// typed is a typed layer made of a function.
type typed[T any] func(next resilience.Next[T]) resilience.Next[T]

func (typed[T]) LayerInfo() resilience.LayerInfo { return resilience.LayerInfo{Name: "typed"} }

func (t typed[T]) Wrap(next resilience.Next[T]) resilience.Next[T] { return t(next) }

// stranger is a layer that does nothing.
type stranger struct{}

func (stranger) LayerInfo() resilience.LayerInfo { return resilience.LayerInfo{Name: "stranger"} }

// twofold is a gate and a typed layer at once.
type twofold struct {
	*counting
	typed[int]
}

func (twofold) LayerInfo() resilience.LayerInfo { return resilience.LayerInfo{} }

// tuned embeds a literal, and is none.
type tuned struct{ resilience.Retry }

func quietBreaker(name string) *resilience.Breaker {
	return resilience.MustBreaker(resilience.BreakerConfig{Name: name, Bus: events.Off()})
}

// PIPE-06
func TestTheSameStateTwiceIsRefusedWithBothPositions(t *testing.T) {
	db := quietBreaker("db")
	own := &counting{name: "own"}
	for _, c := range []struct {
		layers []resilience.Layer
		says   string
	}{
		{[]resilience.Layer{db, resilience.Retry{}, db}, "layer 2 (db) is the same *resilience.Breaker as layer 0"},
		{[]resilience.Layer{resilience.Timeout{}, own, own}, "layer 2 (own) is the same *resilience_test.counting as layer 1"},
		{[]resilience.Layer{struct{ *resilience.Breaker }{db}, db}, "layer 1 (db) is the same *resilience.Breaker as layer 0"},
		{[]resilience.Layer{(*resilience.Breaker)(nil), db, db}, "layer 2 (db) is the same *resilience.Breaker as layer 1"},
	} {
		_, err := resilience.NewPipeline(resilience.PipelineConfig[int]{Name: "p", Layers: c.layers, Bus: events.Off()})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("got %v, want %q in it", err, c.says)
		}
	}
}

// PIPE-06
func TestDifferentStatesAndLiteralsMayStandTwice(t *testing.T) {
	_, err := resilience.NewPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.Off(), Layers: []resilience.Layer{
		resilience.Retry{}, resilience.Timeout{}, quietBreaker("a"), &counting{}, resilience.Retry{}, resilience.Timeout{}, quietBreaker("b"), &counting{},
	}})
	if err != nil {
		t.Error(err)
	}
}

// PIPE-07, PIPE-25
func TestWhatIsNoLayerOfThePipelineIsRefusedByName(t *testing.T) {
	for _, c := range []struct {
		layer resilience.Layer
		says  string
	}{
		{nil, "layer 1: is nil"},
		{(*resilience.Retry)(nil), "layer 1: is a nil *resilience.Retry"},
		{(*resilience.Timeout)(nil), "layer 1: is a nil *resilience.Timeout"},
		{(*resilience.Breaker)(nil), "layer 1: is a nil *resilience.Breaker"},
		{(*counting)(nil), "layer 1: is a nil *resilience_test.counting"},
		{typed[int](nil), "layer 1: is a nil resilience_test.typed[int]"},
		{&resilience.Breaker{}, "layer 1: is a *resilience.Breaker that was not made by NewBreaker"},
		{&resilience.Bulkhead{}, "layer 1: is a *resilience.Bulkhead that was not made by NewBulkhead"},
		{stranger{}, "layer 1: resilience_test.stranger is neither a layer of this package, nor a Gate, nor a TypedLayer[int]"},
		{tuned{}, "layer 1: resilience_test.tuned is neither"},
		{twofold{&counting{}, typed[int](func(n resilience.Next[int]) resilience.Next[int] { return n })}, "layer 1: resilience_test.twofold is both a Gate and a TypedLayer"},
		{typed[string](func(n resilience.Next[string]) resilience.Next[string] { return n }),
			"layer 1: typed does not fit a pipeline of int: it is a resilience_test.typed[string], whose method is Wrap(resilience.Next[string]) resilience.Next[string]"},
		{typed[int](func(resilience.Next[int]) resilience.Next[int] { return nil }), "layer 1 (typed): Wrap returned nil"},
		{resilience.Around("", func(ctx context.Context, next func(context.Context) error) error { return next(ctx) }), "Around.name"},
		{resilience.Around("a", nil), "Around.f"},
	} {
		bus := events.NewBus()
		_, err := resilience.NewPipeline(resilience.PipelineConfig[int]{Name: "p", Layers: []resilience.Layer{resilience.Retry{}, c.layer}, Bus: bus})
		if err == nil || !strings.Contains(err.Error(), `pipeline "p"`) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%T: got %v, want %q in it", c.layer, err, c.says)
		}
		if left := bus.Sources(); len(left) != 0 {
			t.Errorf("%T: the refused pipeline is listed", c.layer)
		}
	}
}

// PIPE-25
func TestALiteralAndAPointerToOneAreTheSameLayer(t *testing.T) {
	describe := func(layers ...resilience.Layer) []resilience.LayerDescription {
		return ints(events.Off(), layers...).Describe().Layers
	}
	values := describe(resilience.Retry{MaxAttempts: 2}, resilience.Timeout{After: 7})
	pointers := describe(&resilience.Retry{MaxAttempts: 2}, &resilience.Timeout{After: 7})
	for i := range values {
		if values[i].Type != pointers[i].Type || values[i].Settings[0] != pointers[i].Settings[0] {
			t.Errorf("a value: %+v, a pointer: %+v", values[i], pointers[i])
		}
	}
}

func TestEverythingThatIsWrongIsToldAtOnce(t *testing.T) {
	_, err := resilience.NewPipeline(resilience.PipelineConfig[int]{JudgeOnReturn: true, Layers: []resilience.Layer{
		resilience.Retry{MaxAttempts: -5, MaxDelay: -1}, nil, stranger{},
	}})
	for _, says := range []string{"PipelineConfig.Name", "PipelineConfig.JudgeOnReturn", "Retry.MaxAttempts = -5", "Retry.MaxDelay", "layer 1: is nil", "layer 2: "} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not in %v", says, err)
		}
	}
}

func TestNamesOfLayersAreUniqueWithinAPipeline(t *testing.T) {
	p := ints(events.Off(), resilience.Retry{}, resilience.Timeout{}, resilience.Timeout{}, resilience.Timeout{Name: "timeout_1"}, quietBreaker("db"))
	var names []string
	for _, l := range p.Describe().Layers {
		names = append(names, l.Name)
	}
	if got := strings.Join(names, " "); got != "retry timeout_1_ timeout_2 timeout_1 db" {
		t.Errorf("names: %s", got)
	}
}

func TestAWrapThatPanicsLeavesNoSourceBehind(t *testing.T) {
	bus := events.NewBus()
	defer func() {
		if recover() == nil || len(bus.Sources()) != 0 {
			t.Errorf("live sources: %v, want the panic and none", bus.Sources())
		}
	}()
	ints(bus, typed[int](func(resilience.Next[int]) resilience.Next[int] { panic("no") }))
}

// A gate that embeds one of ours and overrides its methods is asked, not the one that it embeds.
type watched struct {
	*resilience.Breaker
	settled int
}

func (w *watched) Settle(ctx context.Context, c resilience.Call, p resilience.Permit, o resilience.Outcome) {
	w.settled++
	w.Breaker.Settle(ctx, c, p, o)
}

func TestAGateThatEmbedsOneOfOursSettlesItself(t *testing.T) {
	w := &watched{Breaker: quietBreaker("db")}
	err := ints(events.Off(), w).Run(t.Context(), fail)
	if w.settled != 1 || w.Snapshot().Failures != 1 || !errors.Is(err, errBoom) {
		t.Errorf("settled %d times, %d failures counted, %v", w.settled, w.Snapshot().Failures, err)
	}
}
