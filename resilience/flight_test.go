package resilience_test

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

func joined() *resilience.Singleflight {
	return resilience.MustSingleflight(resilience.SingleflightConfig{})
}

// callers returns a context that can never end and one that can, as t's: the flight has a goroutine of its own for the
// latter alone.
func callers(t *testing.T) map[string]context.Context {
	return map[string]context.Context{"never ends": context.Background(), "can end": t.Context()}
}

// answer is what a caller got.
type answer struct {
	v        int
	err      error
	panicked any
	returned bool
}

// burst starts n calls of one key, on goroutines of their own; the answers are there when it has waited.
func burst(p *resilience.Pipeline[int], ctx context.Context, key string, n int, op resilience.Operation[int]) []*answer {
	var answers []*answer
	for range n {
		a := new(answer)
		answers = append(answers, a)
		go func() {
			defer func() { a.panicked = recover() }()
			a.v, a.err = p.DoKey(ctx, key, op)
			a.returned = true
		}()
		synctest.Wait()
	}
	return answers
}

// later lets time pass, and what is due then be done.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// slow is an operation that takes its time and counts its runs.
type slow struct {
	runs  atomic.Int64
	value int
	err   error
	delay time.Duration // 0: a second
}

func (s *slow) run(context.Context) (int, error) {
	s.runs.Add(1)
	time.Sleep(cmp.Or(s.delay, time.Second))
	return s.value, s.err
}

// SFL-01
func TestConcurrentCallsOfOneKeyRunOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			for _, op := range []*slow{{value: 3}, {value: 4, err: errBoom}} {
				flights := joined()
				p := ints(events.Off(), flights)
				answers := burst(p, ctx, "a", 5, op.run)
				if flights.InFlight() != 1 {
					t.Errorf("%s: %v", what, flights)
				}
				later(2 * time.Second)
				for _, a := range answers {
					if a.v != op.value || a.err != op.err {
						t.Errorf("%s: %+v, want %+v", what, a, op)
					}
				}
				if op.runs.Load() != 1 || flights.InFlight() != 0 {
					t.Errorf("%s: %d runs, then %v", what, op.runs.Load(), flights)
				}
				p.DoKey(ctx, "a", op.run) // it is no cache
				if op.runs.Load() != 2 {
					t.Errorf("%s: %d runs after another call", what, op.runs.Load())
				}
			}
		}
	})
}

// SFL-01
func TestDifferentKeysRunInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			flights, op, began := joined(), &slow{value: 1}, time.Now()
			p := ints(events.Off(), flights)
			var all []*answer
			for i := range 100 {
				all = append(all, burst(p, ctx, fmt.Sprint(i), 2, op.run)...)
			}
			if flights.InFlight() != 100 {
				t.Errorf("%s: %v", what, flights)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			for _, a := range all {
				if a.v != 1 || a.err != nil {
					t.Errorf("%s: %+v", what, a)
				}
			}
			if op.runs.Load() != 100 || flights.InFlight() != 0 || time.Since(began) != time.Second {
				t.Errorf("%s: %d runs, then %v, after %v", what, op.runs.Load(), flights, time.Since(began))
			}
		}
	})
}

// SFL-01: neither other pipelines nor calls without a value are joined to what has one.
func TestPipelinesAndCallsOfRunAreNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flights, op := joined(), &slow{value: 1}
		p, q := ints(events.Off(), flights), ints(events.Off(), flights)
		texts := resilience.MustPipeline(resilience.PipelineConfig[string]{Name: "texts", Layers: []resilience.Layer{flights}, Bus: events.Off()})
		burst(p, t.Context(), "a", 2, op.run)
		burst(q, t.Context(), "a", 2, op.run)
		var runs, textRuns atomic.Int64
		for range 2 {
			go p.RunKey(t.Context(), "a", func(context.Context) error { runs.Add(1); time.Sleep(time.Second); return nil })
			go func() {
				if v, err := texts.DoKey(t.Context(), "a", func(context.Context) (string, error) {
					textRuns.Add(1)
					time.Sleep(time.Second)
					return "text", nil
				}); v != "text" || err != nil {
					t.Errorf("%q, %v", v, err)
				}
			}()
		}
		synctest.Wait()
		if op.runs.Load() != 2 || runs.Load() != 1 || textRuns.Load() != 1 || flights.InFlight() != 4 {
			t.Errorf("%d runs of two pipelines, %d of Run, %d of texts, %v", op.runs.Load(), runs.Load(), textRuns.Load(), flights)
		}
		later(time.Minute)
	})
}

type nameKey struct{}

// SFL-04
func TestTheFlightHasTheLeadersValuesButNotItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, outside := range callers(t) {
			ctx := context.WithValue(outside, nameKey{}, "leader")
			limited, cancel := context.WithTimeout(ctx, time.Second/2)
			defer cancel()
			if what == "can end" {
				ctx = limited
			}
			p := ints(events.Off(), joined())
			op := func(ctx context.Context) (int, error) {
				_, limited := ctx.Deadline()
				child, cancel := context.WithCancel(ctx)
				defer cancel()
				time.Sleep(time.Second)
				if limited || ctx.Err() != nil || child.Err() != nil || ctx.Value(nameKey{}) != "leader" {
					t.Errorf("%s: limited: %t, ended: %v, value %v, context %v", what, limited, ctx.Err(), ctx.Value(nameKey{}), ctx)
				}
				return 3, nil
			}
			led := burst(p, ctx, "a", 1, op)
			followed := burst(p, context.WithValue(t.Context(), nameKey{}, "follower"), "a", 1, op)
			later(2 * time.Second)
			if what == "can end" && resilience.KindOf(led[0].err) != resilience.KindCanceled || followed[0].v != 3 || followed[0].err != nil {
				t.Errorf("%s: the leader got %+v, the follower %+v", what, led[0], followed[0])
			}
		}
	})
}
