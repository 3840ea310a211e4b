package resilience_test

import (
	"context"
	"fmt"
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

// misbehaving does anything: nothing mostly, else it takes its time, panics or ends the goroutine.
func misbehaving(rnd *rand.Rand, mu *sync.Mutex, share int) func() {
	return func() {
		mu.Lock()
		what := rnd.IntN(share)
		mu.Unlock()
		switch what {
		case 0, 1:
			runtime.Goexit()
		case 2:
			panic("misbehaving")
		case 3:
			time.Sleep(5 * ms)
		}
	}
}

// onEveryEvent has handlers of all events of calls misbehave.
func onEveryEvent(bus *events.Bus, f func()) {
	bus.Execution.Observe(func(context.Context, events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
		f()
		return nil, func(events.ExecutionFinished) { f() }
	})
	bus.Attempt.Observe(func(context.Context, events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
		f()
		return nil, func(events.AttemptFinished) { f() }
	})
	bus.BreakerStateChanged.Subscribe(func(context.Context, events.BreakerStateChanged) { f() })
	bus.CallRejected.Subscribe(func(context.Context, events.CallRejected) { f() })
	bus.CallbackPanicked.Subscribe(func(context.Context, events.CallbackPanicked) { f() })
	bus.ConfigWarning.Subscribe(func(context.Context, events.ConfigWarning) { f() })
	bus.DiscardFailed.Subscribe(func(context.Context, events.DiscardFailed) { f() })
	bus.FallbackUsed.Subscribe(func(context.Context, events.FallbackUsed) { f() })
	bus.FaultInjected.Subscribe(func(context.Context, events.FaultInjected) { f() })
	bus.FlightJoined.Subscribe(func(context.Context, events.FlightJoined) { f() })
	bus.HedgeDenied.Subscribe(func(context.Context, events.HedgeDenied) { f() })
	bus.HedgeSettled.Subscribe(func(context.Context, events.HedgeSettled) { f() })
	bus.HedgeStarted.Subscribe(func(context.Context, events.HedgeStarted) { f() })
	bus.KeyEvicted.Subscribe(func(context.Context, events.KeyEvicted) { f() })
	bus.LateResult.Subscribe(func(context.Context, events.LateResult) { f() })
	bus.LimitChanged.Subscribe(func(context.Context, events.LimitChanged) { f() })
	bus.RetryScheduled.Subscribe(func(context.Context, events.RetryScheduled) { f() })
	bus.RetryStopped.Subscribe(func(context.Context, events.RetryStopped) { f() })
	bus.ShadowRejected.Subscribe(func(context.Context, events.ShadowRejected) { f() })
	bus.TimedOut.Subscribe(func(context.Context, events.TimedOut) { f() })
}

// PIPE-13, PIPE-17, PIPE-20, PIPE-27, SFL-02, SFL-03, HDG-04: every handler and every function of the user's
// misbehaves, callers leave, keys are driven out, and the pipeline is closed while all run: each value ends once, as each
// attempt and execution does, and no permit, key or goroutine is left.
func TestWhereEverythingMisbehavesNothingIsLost(t *testing.T) {
	for what := range storms {
		for _, hold := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) { tempest(t, what, hold, rand.Uint64()) })
		}
	}
}

// tempest is 300 calls through one of the storms, while it is being closed.
func tempest(t *testing.T, what string, hold bool, seed uint64) {
	const calls = 300
	rnd, mu := rand.New(rand.NewPCG(seed, 3)), new(sync.Mutex)
	random := func(n int) int { mu.Lock(); defer mu.Unlock(); return rnd.IntN(n) }
	bus, w := events.NewBus(), new(ward)
	tape := record(bus)
	s := &stormy{bus: bus, gate: &counting{name: "gate"},
		room: resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 40, MaxQueue: 10, MaxWait: 100 * ms, Bus: bus})}
	var on atomic.Bool
	wild := misbehaving(rnd, mu, 60)
	s.f = func() {
		if on.Load() {
			wild()
		}
	}
	cfg := resilience.PipelineConfig[*patient]{Name: "p", Bus: bus, Layers: storms[what](s, w), RetryIf: func(error) bool { s.f(); return true },
		FailureIf: func(error) bool { s.f(); return true },
		Classify: func(p *patient, err error) error {
			s.f()
			if p != nil && p.bad {
				return errStatus
			}
			return err
		},
		Discard: func(p *patient) error {
			if p == nil {
				w.twice.Add(1000)
				return nil
			}
			w.end(p, &w.discarded)
			s.f()
			return errBoom
		}}
	if hold {
		cfg.Hold = func(p *patient, held resilience.Held) *patient {
			s.f()
			mu.Lock()
			defer mu.Unlock()
			before := p.release
			p.release = func(err error) {
				if before != nil {
					defer before(err)
				}
				held.Release(err)
			}
			return p
		}
	}
	p := resilience.MustPipeline(cfg)
	onEveryEvent(bus, s.f)
	on.Store(true)
	defer on.Store(false)
	letGo := func(v *patient) {
		mu.Lock()
		release := v.release
		mu.Unlock()
		if release != nil {
			left := make(chan struct{})
			go func() { defer close(left); release(nil) }()
			<-left
		}
	}
	var got sync.Map
	var all sync.WaitGroup
	for range calls {
		start, leave, key := time.Duration(random(2000))*ms, time.Duration(1+random(900))*ms, fmt.Sprint(random(7))
		if key == "0" {
			key = ""
		}
		forever := random(5) == 0
		all.Go(func() {
			time.Sleep(start)
			ctx, cancel := context.WithTimeout(t.Context(), leave)
			defer cancel()
			if forever {
				ctx = context.Background()
			}
			ctx = context.WithValue(ctx, nameKey{}, key)
			defer func() { _ = recover() }()
			v, _ := p.DoKey(ctx, key, w.anything(rnd, mu))
			if v != nil { // also shared by others
				if _, again := got.LoadOrStore(v, true); !again {
					w.end(v, &w.kept)
					time.Sleep(10 * ms)
					letGo(v)
				}
			}
		})
	}
	time.Sleep(1900 * ms)
	closed := make(chan struct{})
	go func() { defer close(closed); _ = p.Close(t.Context()) }()
	all.Wait()
	<-closed
	on.Store(false)
	if p.Close(t.Context()) != nil || p.Goroutines() != 0 {
		t.Errorf("%d goroutines", p.Goroutines())
	}
	got.Range(func(v, _ any) bool {
		letGo(v.(*patient)) // those who shared it and had it later, too
		return true
	})
	time.Sleep(time.Minute)
	where := fmt.Sprintf("%s, hold %v, seed %d", what, hold, seed)
	if w.twice.Load() != 0 || w.made.Load() != w.kept.Load()+w.discarded.Load() || w.kept.Load() == 0 || w.discarded.Load() == 0 {
		t.Errorf("%s: %d values were made, %d kept, %d discarded, %d ended twice", where, w.made.Load(), w.kept.Load(), w.discarded.Load(), w.twice.Load())
	}
	if r := s.room.Snapshot(); s.gate.out() != 0 || r.Usage != 0 || r.Queued != 0 {
		t.Errorf("%s: %d permits are out, %+v", where, s.gate.out(), r)
	}
	for _, b := range s.bulks {
		if r := b.Snapshot(); r.Usage != 0 || r.Queued != 0 {
			t.Errorf("%s: %+v", where, r)
		}
	}
	for _, f := range s.flights {
		if f.InFlight() != 0 {
			t.Errorf("%s: %v", where, f)
		}
	}
	for _, k := range s.keyed {
		s.crowd(t, k, where)
	}
	endedOnce(t, tape, where)
}
