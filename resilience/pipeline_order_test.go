package resilience_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// traced is an Around layer that writes when it is entered and left.
func traced(name string, trace *[]string) resilience.Layer {
	return resilience.Around(name, func(ctx context.Context, next func(context.Context) error) error {
		*trace = append(*trace, "enter "+name)
		err := next(ctx)
		*trace = append(*trace, "leave "+name)
		return err
	})
}

// tracedGate is a gate that writes when it admits and settles.
type tracedGate struct {
	name  string
	trace *[]string
}

func (g tracedGate) LayerInfo() resilience.LayerInfo { return resilience.LayerInfo{Name: g.name} }

func (g tracedGate) Admit(context.Context, resilience.Call) (resilience.Permit, error) {
	*g.trace = append(*g.trace, "enter "+g.name)
	return resilience.Permit{}, nil
}

func (g tracedGate) Settle(context.Context, resilience.Call, resilience.Permit, resilience.Outcome) {
	*g.trace = append(*g.trace, "leave "+g.name)
}

// PIPE-01
func TestLayersRunInListOrder(t *testing.T) {
	var trace []string
	p := ints(events.Off(),
		traced("a", &trace),
		tracedGate{"b", &trace},
		resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay},
		typed[int](func(next resilience.Next[int]) resilience.Next[int] {
			return func(ctx context.Context, call resilience.Call, op resilience.Operation[int]) (int, error) {
				trace = append(trace, "enter c")
				defer func() { trace = append(trace, "leave c") }()
				return next(ctx, call, op)
			}
		}),
		resilience.Timeout{},
		tracedGate{"d", &trace},
	)
	op := failing{n: 1}
	err := p.Run(t.Context(), func(ctx context.Context) error {
		trace = append(trace, "operation")
		return op.run(ctx)
	})
	want := []string{"enter a", "enter b",
		"enter c", "enter d", "operation", "leave d", "leave c",
		"enter c", "enter d", "operation", "leave d", "leave c",
		"leave b", "leave a"}
	if err != nil || !slices.Equal(trace, want) {
		t.Errorf("%v, %v\nwant %v", err, trace, want)
	}
}

// PIPE-02
func TestABreakerOutsideARetryCountsSequencesAndOneInsideCountsAttempts(t *testing.T) {
	outside, inside := quietBreaker("outside"), quietBreaker("inside")
	retry := resilience.Retry{MaxAttempts: 3, Backoff: resilience.NoDelay}
	p, q := ints(events.Off(), outside, retry), ints(events.Off(), retry, inside)
	p.Run(t.Context(), fail)
	q.Run(t.Context(), fail)
	if got := outside.Snapshot().Failures; got != 1 {
		t.Errorf("the breaker outside counted %d failures, want one an exhausted sequence", got)
	}
	if got := inside.Snapshot().Failures; got != 3 {
		t.Errorf("the breaker inside counted %d failures, want one an attempt", got)
	}
}

// PIPE-03
func TestAPipelineWithoutLayersRunsOnceMapsErrorsAndTells(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	op := failing{n: -1}
	err := ints(bus).Run(t.Context(), op.run)
	if err != errBoom || op.runs != 1 || resilience.KindOf(err) != resilience.KindUnhandled {
		t.Errorf("%d runs, %v of kind %v", op.runs, err, resilience.KindOf(err))
	}
	want := []string{"execution.started", "attempt.started", "attempt.finished", "execution.finished"}
	if got := tape.names(); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	if e := heard[events.ExecutionFinished](tape)[0]; e.Outcome != events.OutcomeFailure || e.Attempts != 1 || e.Err != errBoom {
		t.Errorf("finished: %+v", e)
	}
}

// PIPE-03: on the default bus, where all PassThroughs share a name.
func TestPassThroughRunsOnceAndNeverRetries(t *testing.T) {
	var finished []events.ExecutionFinished
	defer events.Default().Execution.Observe(func(context.Context, events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
		return nil, func(e events.ExecutionFinished) { finished = append(finished, e) }
	})()
	for range 2 {
		op := failing{n: -1}
		p := resilience.PassThrough[int]()
		if err := p.Run(t.Context(), op.run); err != errBoom || op.runs != 1 {
			t.Errorf("%d runs, %v", op.runs, err)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(finished) != 2 || finished[0].Source != finished[1].Source || finished[0].Source.Pipeline() != "pass_through" {
		t.Fatalf("finished: %+v", finished)
	}
	if !slices.Contains(events.Default().Sources(), finished[0].Source) {
		t.Error("closing one PassThrough took the source of all off the bus")
	}
}

// PIPE-05
func TestABreakerInPipelinesOfDifferentTypesIsOneState(t *testing.T) {
	db := quietBreaker("db")
	p := ints(events.Off(), db)
	q := resilience.MustPipeline(resilience.PipelineConfig[string]{Name: "q", Layers: []resilience.Layer{db}, Bus: events.Off()})
	for i := range 5 {
		if i%2 == 0 {
			p.Run(t.Context(), fail)
		} else {
			q.Run(t.Context(), fail)
		}
	}
	if err := p.Run(t.Context(), succeed); !errors.Is(err, resilience.ErrBreakerOpen) {
		t.Errorf("one pipeline: %v", err)
	}
	if err := q.Run(t.Context(), succeed); !errors.Is(err, resilience.ErrBreakerOpen) {
		t.Errorf("the other: %v", err)
	}
}

// PIPE-08
func TestChangingTheConfigurationAfterBuildingChangesNothing(t *testing.T) {
	retry := &resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay}
	cfg := resilience.PipelineConfig[int]{Name: "p", Layers: []resilience.Layer{retry}, Bus: events.Off()}
	p := resilience.MustPipeline(cfg)
	retry.MaxAttempts = 9
	cfg.Name = "q"
	cfg.Classify = func(int, error) error { return nil }
	cfg.Layers[0] = quietBreaker("db")
	op := failing{n: -1}
	if err := p.Run(t.Context(), op.run); err != errBoom || op.runs != 2 {
		t.Errorf("%d runs, %v; want 2", op.runs, err)
	}
	d := p.Describe()
	d.Layers[0].Settings[0].Value = "changed"
	d.Layers[0].Name = "changed"
	if d := p.Describe(); d.Name != "p" || d.Layers[0].Name != "retry" || d.Layers[0].Settings[0].Value != "2" {
		t.Errorf("described: %+v", d)
	}
}
