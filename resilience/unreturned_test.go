package resilience_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// rude is a Gate whose Settle does what it is told to.
type rude struct{ settle func() }

func (rude) LayerInfo() resilience.LayerInfo { return resilience.LayerInfo{Name: "rude"} }
func (rude) Admit(context.Context, resilience.Call) (resilience.Permit, error) {
	return resilience.Permit{}, nil
}
func (g rude) Settle(context.Context, resilience.Call, resilience.Permit, resilience.Outcome) {
	g.settle()
}

// PIPE-13: when a handler or a function of the user's ends the goroutine, or panics where nothing recovers that, after the
// operation has returned a value, then nobody gets the value: it is discarded, once.
func TestAValueThatNobodyGetsIsDiscarded(t *testing.T) {
	ends := runtime.Goexit
	type pipeline = resilience.PipelineConfig[int]
	for what, c := range map[string]struct {
		value   int // that the operation returns first, then the next, and so on; from 7 on they are failing ones
		want    []int
		takes   time.Duration
		prepare func(bus *events.Bus, p *pipeline)
	}{
		"the end of the attempt": {1, []int{1}, 0, func(bus *events.Bus, _ *pipeline) {
			bus.Attempt.Observe(func(context.Context, events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
				return nil, func(events.AttemptFinished) { ends() }
			})
		}},
		"the end of the execution": {1, []int{1}, 0, func(bus *events.Bus, _ *pipeline) {
			bus.Execution.Observe(func(context.Context, events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
				return nil, func(events.ExecutionFinished) { ends() }
			})
		}},
		"Classify": {1, []int{1}, 0, func(_ *events.Bus, p *pipeline) {
			p.Classify = func(int, error) error { ends(); return nil }
		}},
		"a breaker's state": {1, []int{1}, 0, func(bus *events.Bus, p *pipeline) {
			db := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Cooldown: time.Second, Bus: bus})
			calls(t, db, "f")
			time.Sleep(time.Second)
			bus.BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) {
				if e.To == events.StateClosed {
					ends()
				}
			})
			p.Layers = []resilience.Layer{db}
		}},
		"FailureIf": {7, []int{7}, 0, func(bus *events.Bus, p *pipeline) {
			p.Layers = []resilience.Layer{breaker(resilience.BreakerConfig{FailureIf: func(error) bool { ends(); return true }, Bus: bus})}
		}},
		"FailureIf of the pipeline": {7, []int{7}, 0, func(_ *events.Bus, p *pipeline) {
			p.FailureIf = func(error) bool { ends(); return true }
			p.Layers = []resilience.Layer{rude{func() {}}}
		}},
		"FailureIf of the pipeline, in a breaker": {7, []int{7}, 0, func(bus *events.Bus, p *pipeline) {
			p.FailureIf = func(error) bool { ends(); return true }
			p.Layers = []resilience.Layer{breaker(resilience.BreakerConfig{Bus: bus})}
		}},
		"what runs before the operation": {1, nil, 0, func(bus *events.Bus, p *pipeline) {
			p.Layers = []resilience.Layer{rude{func() {}}, breaker(resilience.BreakerConfig{Bus: bus}),
				resilience.Around("rude", func(context.Context, func(context.Context) error) error { ends(); return nil })}
		}},
		"Settle": {1, []int{1}, 0, func(_ *events.Bus, p *pipeline) { p.Layers = []resilience.Layer{rude{ends}} }},
		"Settle that panics": {1, []int{1}, 0, func(_ *events.Bus, p *pipeline) {
			p.Layers = []resilience.Layer{rude{func() { panic("rude") }}}
		}},
		"a late result": {1, []int{1}, 2 * time.Second, func(bus *events.Bus, p *pipeline) {
			bus.LateResult.Subscribe(func(context.Context, events.LateResult) { ends() })
			p.Layers = []resilience.Layer{resilience.Timeout{After: time.Second}}
		}},
		"RetryIf": {7, []int{7}, 0, func(_ *events.Bus, p *pipeline) {
			p.Layers = []resilience.Layer{resilience.Retry{If: func(error) bool { ends(); return true }}}
		}},
		"a retry that is scheduled": {7, []int{7}, 0, func(bus *events.Bus, p *pipeline) {
			bus.RetryScheduled.Subscribe(func(context.Context, events.RetryScheduled) { ends() })
			p.Layers = []resilience.Layer{resilience.Retry{}}
		}},
		"a retry that stops": {7, []int{7, 8}, 0, func(bus *events.Bus, p *pipeline) { // the first is superseded
			bus.RetryStopped.Subscribe(func(context.Context, events.RetryStopped) { ends() })
			p.Layers = []resilience.Layer{resilience.Retry{MaxAttempts: 2}}
		}},
		"a retry that has no budget": {7, []int{7}, 0, func(bus *events.Bus, p *pipeline) {
			bus.RetryStopped.Subscribe(func(context.Context, events.RetryStopped) { ends() })
			budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "none", Allowance: 1, Window: time.Hour, Bus: bus})
			bus.RetryScheduled.Subscribe(func(context.Context, events.RetryScheduled) { // before it is asked
				_ = resilience.Run(context.Background(), func(context.Context) error { return errBoom }, resilience.Retry{MaxAttempts: 2, Budget: budget})
			})
			p.Layers = []resilience.Layer{resilience.Retry{Budget: budget}}
		}},
		"Fallback.If": {7, []int{7}, 0, func(_ *events.Bus, p *pipeline) {
			p.Layers = []resilience.Layer{resilience.Fallback[int]{To: func(context.Context, int, error) (int, error) { return 3, nil },
				If: func(error) bool { ends(); return true }}}
		}},
		"Fallback.To": {7, []int{7}, 0, func(_ *events.Bus, p *pipeline) {
			p.Layers = []resilience.Layer{resilience.FallbackTo(func(context.Context, int, error) (int, error) { ends(); return 3, nil })}
		}},
		"a fallback that is told": {7, []int{7, 3}, 0, func(bus *events.Bus, p *pipeline) { // 7 is superseded
			bus.FallbackUsed.Subscribe(func(context.Context, events.FallbackUsed) { ends() })
			p.Layers = []resilience.Layer{resilience.FallbackTo(func(context.Context, int, error) (int, error) { return 3, nil })}
		}},
		"Around": {1, []int{1}, 0, func(_ *events.Bus, p *pipeline) {
			p.Layers = []resilience.Layer{resilience.Around("rude", func(ctx context.Context, next func(context.Context) error) error {
				err := next(ctx)
				ends()
				return err
			})}
		}},
		"Around whose second run does not return": {1, []int{1, 2}, 0, func(_ *events.Bus, p *pipeline) { // it is superseded
			runs := 0
			p.Classify = func(int, error) error {
				if runs++; runs == 2 {
					ends()
				}
				return nil
			}
			p.Layers = []resilience.Layer{resilience.Around("rude", func(ctx context.Context, next func(context.Context) error) error {
				_ = next(ctx)
				return next(ctx)
			})}
		}},
		"Hold": {1, []int{1}, 0, func(bus *events.Bus, p *pipeline) {
			p.Hold = func(int, resilience.Held) int { ends(); return 1 }
			p.Layers = []resilience.Layer{resilience.Timeout{After: time.Second}}
		}},
		"Hold that panics": {1, []int{1}, 0, func(bus *events.Bus, p *pipeline) {
			p.Hold = func(int, resilience.Held) int { panic("rude") }
			p.Layers = []resilience.Layer{resilience.Timeout{After: time.Second}}
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			bus, value := events.NewBus(), c.value-1
			var discarded []int
			p := pipeline{Name: "p", Bus: bus,
				Discard: func(v int) error { discarded = append(discarded, v); return nil },
				Classify: func(v int, err error) error {
					if v >= 7 {
						return errStatus
					}
					return err
				}}
			c.prepare(bus, &p)
			left := make(chan struct{})
			go func() {
				defer close(left)
				defer func() { _ = recover() }()
				v, err := resilience.MustPipeline(p).Do(t.Context(), func(context.Context) (int, error) {
					time.Sleep(c.takes)
					value++
					return value, nil
				})
				t.Errorf("%s: returned %d, %v", what, v, err)
			}()
			<-left
			if !slices.Equal(discarded, c.want) {
				t.Errorf("%s: discarded %d, want %d", what, discarded, c.want)
			}
		})
	}
}

// PIPE-13: calls of Run have no value to discard.
func TestACallWithoutAValueDiscardsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flight := resilience.MustSingleflight(resilience.SingleflightConfig{})
		for what, layer := range map[string]resilience.Layer{
			"a flight that all leave": flight,
			"Around that refuses": resilience.Around("refuses", func(ctx context.Context, next func(context.Context) error) error {
				_ = next(ctx)
				return errBoom
			}),
		} {
			p := resilience.MustPipeline(resilience.PipelineConfig[*int]{Name: "p", Bus: events.NewBus(), Layers: []resilience.Layer{layer},
				Discard: func(v *int) error { t.Errorf("%s: discarded %v", what, v); return nil }})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := p.RunKey(ctx, "k", func(context.Context) error { time.Sleep(2 * time.Second); return nil })
			if err == nil {
				t.Errorf("%s: no error", what)
			}
			synctest.Wait()
		}
		time.Sleep(time.Minute)
	})
}
