package resilience_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// ward keeps account of values: each is made once and ends once, in the caller's hands or discarded.
type ward struct {
	made, discarded, kept atomic.Int64
	twice                 atomic.Int64
}

type patient struct {
	bad     bool
	ended   atomic.Bool
	release func(error)
}

func (w *ward) end(p *patient, counter *atomic.Int64) {
	if p.ended.Swap(true) {
		w.twice.Add(1)
	}
	counter.Add(1)
}

// anything is an operation that does anything: it waits or does not, heeds its context or does not, and returns a value,
// a failing value or an error, or panics, or ends its goroutine.
func (w *ward) anything(rnd *rand.Rand, mu *sync.Mutex) resilience.Operation[*patient] {
	return func(ctx context.Context) (*patient, error) {
		mu.Lock()
		what, wait, heeds := rnd.IntN(20), time.Duration(rnd.IntN(400))*ms, rnd.IntN(3) > 0
		mu.Unlock()
		if heeds {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				if what%2 == 0 {
					return nil, ctx.Err()
				}
			}
		} else {
			time.Sleep(wait)
		}
		switch {
		case what == 0:
			panic("anything")
		case what == 1:
			runtime.Goexit()
		case what == 2:
			return nil, resilience.Permanent(errFirst)
		case what < 8:
			return nil, errBoom
		}
		w.made.Add(1)
		return &patient{bad: what < 12}, nil
	}
}

// HDG-02, HDG-04, TMO-06, PIPE-13, PIPE-20, PIPE-27, BUS-08: whatever the operations and the callers do, each value ends
// once, each permit comes back, each attempt is told once, and no goroutine is left.
func TestWhateverHappensNothingIsLost(t *testing.T) {
	const perStack = 300
	budget := func(bus *events.Bus) *resilience.RetryBudget {
		return resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "extra", Bus: bus})
	}
	learn := resilience.MustLearnedDelay(resilience.LearnedDelayConfig{MinSamples: 5, Window: time.Minute})
	for name, layers := range map[string]func(bus *events.Bus, gate *counting, room *resilience.Bulkhead) []resilience.Layer{
		"hedge in a retry": func(bus *events.Bus, gate *counting, room *resilience.Bulkhead) []resilience.Layer {
			return []resilience.Layer{resilience.Timeout{After: time.Second}, resilience.Retry{Backoff: resilience.Constant(20 * ms)},
				resilience.Hedge{MaxAttempts: 3, Delay: 50 * ms, Budget: budget(bus)}, gate, room, resilience.Timeout{After: 200 * ms}}
		},
		"retry in a hedge": func(_ *events.Bus, gate *counting, room *resilience.Bulkhead) []resilience.Layer {
			return []resilience.Layer{resilience.Hedge{Delay: 50 * ms, Learn: learn}, gate, resilience.Retry{Backoff: resilience.NoDelay}, room}
		},
		"hedges in a hedge that waits": func(_ *events.Bus, gate *counting, room *resilience.Bulkhead) []resilience.Layer {
			return []resilience.Layer{resilience.Hedge{Delay: 80 * ms, WaitLosers: true}, resilience.Hedge{Name: "inner", MaxAttempts: 3, Delay: 30 * ms}, gate, room}
		},
		"abandoned": func(_ *events.Bus, gate *counting, room *resilience.Bulkhead) []resilience.Layer {
			return []resilience.Layer{resilience.Timeout{After: 600 * ms, Abandon: true}, resilience.Retry{Backoff: resilience.NoDelay},
				resilience.Timeout{After: 150 * ms, Abandon: true, MaxAbandoned: 20}, gate, room}
		},
		"abandoned hedges": func(_ *events.Bus, gate *counting, room *resilience.Bulkhead) []resilience.Layer {
			return []resilience.Layer{resilience.Hedge{MaxAttempts: 4, Delay: 40 * ms}, resilience.Timeout{After: 100 * ms, Abandon: true}, gate, room}
		},
	} {
		for _, hold := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				bus := events.NewBus()
				tape := record(bus)
				gate := &counting{name: "gate"}
				room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 200, MaxQueue: 100, MaxWait: 100 * ms, Bus: bus})
				w := new(ward)
				cfg := resilience.PipelineConfig[*patient]{Name: "p", Bus: bus, Layers: layers(bus, gate, room),
					Classify: func(p *patient, err error) error {
						if p != nil && p.bad {
							return errStatus
						}
						return err
					},
					Discard: func(p *patient) error { w.end(p, &w.discarded); return nil }}
				if hold {
					cfg.Hold = func(p *patient, held resilience.Held) *patient { p.release = held.Release; return p }
				}
				p := resilience.MustPipeline(cfg)
				seed := rand.Uint64()
				rnd, mu := rand.New(rand.NewPCG(seed, 1)), new(sync.Mutex)
				var all sync.WaitGroup
				for range perStack {
					mu.Lock()
					start, leave := time.Duration(rnd.IntN(3000))*ms, time.Duration(rnd.IntN(1000))*ms
					mu.Unlock()
					all.Go(func() {
						time.Sleep(start)
						ctx, cancel := context.WithTimeout(t.Context(), leave)
						defer cancel()
						defer func() { _ = recover() }()
						if v, _ := p.Do(ctx, w.anything(rnd, mu)); v != nil {
							if w.end(v, &w.kept); v.release != nil {
								v.release(nil)
							}
						}
					})
				}
				all.Wait()
				if err := p.Close(t.Context()); err != nil || p.Goroutines() != 0 {
					t.Errorf("%s, hold %v: %v, %d goroutines", name, hold, err, p.Goroutines())
				}
				if w.twice.Load() != 0 || w.made.Load() != w.kept.Load()+w.discarded.Load() || w.kept.Load() == 0 || w.discarded.Load() == 0 {
					t.Errorf("%s, hold %v, seed %d: %d values were made, %d kept, %d discarded, %d ended twice", name, hold, seed,
						w.made.Load(), w.kept.Load(), w.discarded.Load(), w.twice.Load())
				}
				if gate.out() != 0 || room.Snapshot().Usage != 0 || room.Snapshot().Queued != 0 {
					t.Errorf("%s, hold %v, seed %d: %d permits are out, %+v", name, hold, seed, gate.out(), room.Snapshot())
				}
				told := map[[2]uint64]int{}
				for _, e := range heard[events.AttemptStarted](tape) {
					told[[2]uint64{e.Execution, uint64(e.Attempt)}]++
				}
				for _, e := range heard[events.AttemptFinished](tape) {
					told[[2]uint64{e.Execution, uint64(e.Attempt)}] += 10
				}
				for of, n := range told {
					if n != 11 {
						t.Errorf("%s, hold %v, seed %d: execution and attempt %v: %d starts, %d ends", name, hold, seed, of, n%10, n/10)
					}
				}
				for _, e := range heard[events.ExecutionFinished](tape) {
					if e.Working < 0 || e.Working > e.Duration {
						t.Errorf("%s, hold %v, seed %d: %v of %v working", name, hold, seed, e.Working, e.Duration)
					}
				}
			})
		}
	}
}
