package resilience_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-05, PIPE-13, PIPE-17, PIPE-20, PIPE-27, BRK-11, BRK-14: a pipeline runs inside the operation of another and shares its
// breaker, bulkhead and budget, while commands are given, handlers call back and end their goroutines, and both are closed:
// each value ends once, each permit comes back, and the breaker works as a new one does.
func TestWhatIsSharedByNestedPipelinesSurvivesEverything(t *testing.T) {
	for _, hold := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "extra", Bus: bus})
			room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 400, Bus: bus})
			db := breaker(resilience.BreakerConfig{FailureRatio: 0.7, SlowCall: 200 * ms, SlowRatio: 0.9, MinCalls: 10, Probes: 3, Cooldown: 50 * ms,
				MaxProbeTime: 150 * ms, CountDeadlines: true, Window: time.Second, Bus: bus})
			w := new(ward)
			build := func(name string, layers ...resilience.Layer) *resilience.Pipeline[*patient] {
				cfg := resilience.PipelineConfig[*patient]{Name: name, Bus: bus, Layers: layers,
					Classify: func(p *patient, err error) error {
						if p != nil && p.bad {
							return errStatus
						}
						return err
					},
					Discard: func(p *patient) error {
						if w.end(p, &w.discarded); p.release != nil {
							p.release(nil)
						}
						return nil
					}}
				if hold {
					cfg.Hold = func(p *patient, held resilience.Held) *patient {
						before := p.release
						p.release = func(err error) {
							if before != nil {
								defer before(err) // also if a handler ends the goroutine
							}
							held.Release(err)
						}
						return p
					}
				}
				return resilience.MustPipeline(cfg)
			}
			outer := build("outer", resilience.Timeout{After: time.Second}, resilience.Retry{Backoff: resilience.Constant(10 * ms), Budget: budget}, db, room,
				resilience.Hedge{MaxAttempts: 3, Delay: 60 * ms, Budget: budget})
			inner := build("inner", resilience.Hedge{Delay: 40 * ms, Budget: budget}, db, room, resilience.Timeout{After: 100 * ms, Abandon: true, MaxAbandoned: 30})
			seed := rand.Uint64()
			rnd, mu := rand.New(rand.NewPCG(seed, 2)), new(sync.Mutex)
			random := func(n int) int { mu.Lock(); defer mu.Unlock(); return rnd.IntN(n) }
			cancel := bus.BreakerStateChanged.Subscribe(func(ctx context.Context, _ events.BreakerStateChanged) {
				switch random(6) {
				case 0:
					_ = db.Run(events.Nest(ctx), succeed)
				case 1:
					db.Reset()
				case 2:
					runtime.Goexit()
				case 3:
					panic("a handler")
				}
			})
			var all sync.WaitGroup
			for range 400 {
				start, leave := time.Duration(random(4000))*ms, time.Duration(1+random(1200))*ms
				all.Go(func() {
					time.Sleep(start)
					[]func(){db.Reset, db.ForceOpen, db.Disable, db.Enable, func() { db.Snapshot() }, db.Reset, func() {}}[random(7)]()
					ctx, cancel := context.WithTimeout(t.Context(), leave)
					defer cancel()
					defer func() { _ = recover() }()
					op := w.anything(rnd, mu)
					v, _ := outer.Do(ctx, func(ctx context.Context) (*patient, error) {
						v, err := inner.Do(ctx, op)
						if err != nil && v != nil { // nobody else will
							w.end(v, &w.discarded)
							v = nil
						}
						return v, err
					})
					if v != nil {
						if w.end(v, &w.kept); v.release != nil {
							v.release(nil)
						}
					}
				})
			}
			time.Sleep(3900 * ms)
			_ = inner.Close(t.Context())
			all.Wait()
			if outer.Close(t.Context()) != nil || inner.Close(t.Context()) != nil || outer.Goroutines()+inner.Goroutines() != 0 {
				t.Errorf("seed %d: %d and %d goroutines", seed, outer.Goroutines(), inner.Goroutines())
			}
			cancel()
			synctest.Wait()
			if w.twice.Load() != 0 || w.made.Load() != w.kept.Load()+w.discarded.Load() || w.kept.Load() == 0 {
				t.Errorf("hold %v, seed %d: %d values were made, %d kept, %d discarded, %d ended twice", hold, seed,
					w.made.Load(), w.kept.Load(), w.discarded.Load(), w.twice.Load())
			}
			if s := room.Snapshot(); s.Usage != 0 || s.Queued != 0 {
				t.Errorf("hold %v, seed %d: permits are out: %+v", hold, seed, s)
			}
			if s := budget.Snapshot(); s.Available < 0 || s.Available > s.Limit {
				t.Errorf("hold %v, seed %d: %+v", hold, seed, s)
			}
			db.Reset()
			time.Sleep(time.Minute)
			if s := db.Snapshot(); s.State != events.StateClosed || s.Calls != 0 || s.SlowCalls != 0 {
				t.Errorf("hold %v, seed %d: left behind %+v", hold, seed, s)
			}
			calls(t, db, "fffsssfff")
			state(t, db, events.StateClosed)
			calls(t, db, "f")
			state(t, db, events.StateOpen)
		})
	}
}
