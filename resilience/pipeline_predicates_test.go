package resilience_test

import (
	"context"
	"errors"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// predicates is a pipeline whose predicates take errBoom for nothing and count how often they are asked.
func predicates(retryIf, failureIf *int, layers ...resilience.Layer) *resilience.Pipeline[int] {
	ask := func(asked *int) func(error) bool {
		return func(err error) bool { *asked++; return !errors.Is(err, errBoom) }
	}
	return resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.Off(), Layers: layers, RetryIf: ask(retryIf), FailureIf: ask(failureIf)})
}

// RET-04, BRK-17: the pipeline's predicates are those of the layers that have none of their own.
func TestThePipelinesPredicatesAreTheLayersDefaults(t *testing.T) {
	var retryIf, failureIf int
	gate, db, room := &counting{}, quietBreaker("db"), roomFor(1)
	op := failing{n: -1}
	predicates(&retryIf, &failureIf, gate, room, resilience.Retry{Backoff: resilience.NoDelay}, db).Run(t.Context(), op.run)
	if op.runs != 1 || retryIf != 1 || db.Snapshot().Failures != 0 || gate.outcomes[0].Kind != resilience.Ignored || gate.outcomes[0].Err != errBoom {
		t.Errorf("%d runs; the breaker counted %d failures, the gate learned %+v", op.runs, db.Snapshot().Failures, gate.outcomes)
	}
	if failureIf != 2 {
		t.Errorf("FailureIf was asked %d times, want once by the breaker and once by the gate: a bulkhead does not ask", failureIf)
	}
}

// RET-04, BRK-17
func TestALayersOwnPredicateGoesBeforeThePipelines(t *testing.T) {
	var retryIf, failureIf int
	all := func(error) bool { return true }
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureIf: all, Bus: events.Off()})
	op := failing{n: -1}
	predicates(&retryIf, &failureIf, resilience.Retry{Backoff: resilience.NoDelay, If: all}, db).Run(t.Context(), op.run)
	if op.runs != 3 || db.Snapshot().Failures != 3 || retryIf != 0 || failureIf != 0 {
		t.Errorf("%d runs, %d failures; the pipeline's were asked %d and %d times", op.runs, db.Snapshot().Failures, retryIf, failureIf)
	}
}

// BRK-17, PIPE-13
func TestAPredicateOfThePipelineThatPanicsChangesNothing(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	gate := &counting{}
	never := func(error) bool { panic("predicate") }
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus, FailureIf: never, RetryIf: never,
		Classify: func(int, error) error { panic("classify") }, Layers: []resilience.Layer{gate, resilience.Retry{}}})
	if err := p.Run(t.Context(), fail); err != errBoom || gate.outcomes[0].Kind != resilience.Failed {
		t.Errorf("%v, the gate learned %+v", err, gate.outcomes)
	}
	var callbacks []string
	for _, e := range heard[events.CallbackPanicked](tape) {
		callbacks = append(callbacks, e.Callback)
	}
	if len(callbacks) != 3 || callbacks[0] != "PipelineConfig.Classify" || callbacks[1] != "Retry.If" || callbacks[2] != "PipelineConfig.FailureIf" {
		t.Errorf("told of %v", callbacks)
	}
}

// A layer sees the operation's error itself, and not a copy, where Classify leaves it as it is.
func TestLayersSeeTheOperationsErrorWhereClassifyLeavesIt(t *testing.T) {
	for _, classify := range []func(int, error) error{nil, func(_ int, err error) error { return err }, func(int, error) error { return nil }} {
		var saw error
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.Off(), Classify: classify, Layers: []resilience.Layer{
			resilience.Around("look", func(ctx context.Context, next func(context.Context) error) error { saw = next(ctx); return saw }),
		}})
		if err := p.Run(t.Context(), fail); err != errBoom || saw != errBoom {
			t.Errorf("the layer saw %#v, the caller got %v", saw, err)
		}
	}
}
