package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// share is what one caller has of a value.
type share struct {
	of      *patient
	release func(error)
}

// ledger keeps account of values that several callers may have.
type ledger struct {
	mu              sync.Mutex // guards what follows
	made            []*patient
	kept, discarded map[*patient]int
}

func (l *ledger) note(where map[*patient]int, p *patient) {
	l.mu.Lock()
	defer l.mu.Unlock()
	where[p]++
}

// SFL-02, SFL-03, HDG-02, HDG-04, PIPE-13, PIPE-20, PIPE-27, BUS-08: flights in hedges and hedges in flights, with retries
// between: whatever the operations and the callers do, each value is had by callers or discarded once, never both, each
// permit comes back, each call and attempt is told once, and no goroutine is left.
func TestWhateverHappensInFlightsNothingIsLost(t *testing.T) {
	retry := resilience.Retry{Backoff: resilience.Constant(20 * ms)}
	hedge := resilience.Hedge{MaxAttempts: 3, Delay: 40 * ms}
	for name, layers := range map[string]func(*resilience.Singleflight) []resilience.Layer{
		"flights in a retry": func(s *resilience.Singleflight) []resilience.Layer { return []resilience.Layer{retry, s} },
		"a hedge in a flight": func(s *resilience.Singleflight) []resilience.Layer {
			return []resilience.Layer{resilience.Timeout{After: 700 * ms}, s, retry, hedge}
		},
		"flights in a hedge": func(s *resilience.Singleflight) []resilience.Layer { return []resilience.Layer{hedge, s, retry} },
		"flights in a retry in a hedge": func(s *resilience.Singleflight) []resilience.Layer {
			return []resilience.Layer{hedge, retry, s, resilience.Timeout{After: 150 * ms}}
		},
		"a hedge in a retry in a flight in a retry": func(s *resilience.Singleflight) []resilience.Layer {
			outer := retry
			outer.Name = "outer"
			return []resilience.Layer{outer, s, retry, hedge}
		},
		"abandoned flights": func(s *resilience.Singleflight) []resilience.Layer {
			return []resilience.Layer{retry, resilience.Timeout{After: 100 * ms, Abandon: true}, s, hedge}
		},
		"flights that abandon": func(s *resilience.Singleflight) []resilience.Layer {
			return []resilience.Layer{hedge, s, resilience.Timeout{After: 100 * ms, Abandon: true}}
		},
	} {
		for _, hold := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) { account(t, fmt.Sprintf("%s, hold %v", name, hold), hold, layers) })
		}
	}
}

func account(t *testing.T, name string, hold bool, layers func(*resilience.Singleflight) []resilience.Layer) {
	seed := rand.Uint64()
	rnd, mu := rand.New(rand.NewPCG(seed, 1)), new(sync.Mutex)
	bus := events.NewBus()
	tape := record(bus)
	flights, gate := joined(), &counting{name: "gate"}
	room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 200, MaxQueue: 100, MaxWait: 100 * ms, Bus: bus})
	l := &ledger{kept: map[*patient]int{}, discarded: map[*patient]int{}}
	cfg := resilience.PipelineConfig[*share]{Name: "p", Bus: bus, Layers: append(layers(flights), gate, room),
		Classify: func(s *share, err error) error {
			if s != nil && s.of.bad {
				return errStatus
			}
			return err
		},
		Discard: func(s *share) error { l.note(l.discarded, s.of); return nil }}
	if hold {
		cfg.Hold = func(s *share, held resilience.Held) *share { return &share{s.of, held.Release} }
	}
	p := resilience.MustPipeline(cfg)
	anything := new(ward).anything(rnd, mu)
	op := func(ctx context.Context) (*share, error) {
		v, err := anything(ctx)
		if v == nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.made = append(l.made, v)
		return &share{of: v}, err
	}
	var all sync.WaitGroup
	var calls atomic.Int64
	for range 300 {
		mu.Lock()
		start, leave := time.Duration(rnd.IntN(2000))*ms, time.Duration(1+rnd.IntN(800))*ms
		key, stays, reads := fmt.Sprint(rnd.IntN(6)), rnd.IntN(5) == 0, time.Duration(rnd.IntN(300))*ms
		mu.Unlock()
		all.Go(func() {
			time.Sleep(start)
			ctx, cancel := context.WithTimeout(t.Context(), leave)
			defer cancel()
			if stays {
				ctx = context.Background()
			}
			calls.Add(1)
			defer func() { _ = recover() }()
			if v, _ := p.DoKey(ctx, key, op); v != nil {
				l.note(l.kept, v.of)
				if v.release != nil {
					time.Sleep(reads)
					v.release(nil)
				}
			}
		})
	}
	all.Wait()
	if err := p.Close(t.Context()); err != nil || p.Goroutines() != 0 || flights.InFlight() != 0 {
		t.Errorf("%s, seed %d: %v, %d goroutines, %v", name, seed, err, p.Goroutines(), flights)
	}
	if gate.out() != 0 || room.Snapshot().Usage != 0 || room.Snapshot().Queued != 0 {
		t.Errorf("%s, seed %d: %d permits are out, %+v", name, seed, gate.out(), room.Snapshot())
	}
	for _, v := range l.made {
		if kept, discarded := l.kept[v], l.discarded[v]; discarded > 1 || (kept > 0) == (discarded == 1) {
			t.Errorf("%s, seed %d: a value (bad: %v) is kept by %d callers and discarded %d times", name, seed, v.bad, kept, discarded)
		}
	}
	if len(l.kept) == 0 || len(l.discarded) == 0 {
		t.Errorf("%s, seed %d: %d values are kept, %d discarded", name, seed, len(l.kept), len(l.discarded))
	}
	told := map[[2]uint64]int{} // attempt 0 is the call
	for _, e := range heard[events.AttemptStarted](tape) {
		told[[2]uint64{e.Execution, uint64(e.Attempt)}]++
	}
	for _, e := range heard[events.AttemptFinished](tape) {
		told[[2]uint64{e.Execution, uint64(e.Attempt)}] += 10
	}
	for _, e := range heard[events.ExecutionStarted](tape) {
		told[[2]uint64{e.Execution, 0}]++
	}
	ended := heard[events.ExecutionFinished](tape)
	for _, e := range ended {
		told[[2]uint64{e.Execution, 0}] += 10
		if e.Working < 0 || e.Working > e.Duration || e.Backoff < 0 || e.Queued < 0 {
			t.Errorf("%s, seed %d: %+v", name, seed, e)
		}
	}
	for of, n := range told {
		if n != 11 {
			t.Errorf("%s, seed %d: execution and attempt %v: %d starts, %d ends", name, seed, of, n%10, n/10)
		}
	}
	if len(ended) != int(calls.Load()) {
		t.Errorf("%s, seed %d: %d calls, %d told", name, seed, calls.Load(), len(ended))
	}
}

// SFL-02: of flights that would wait for each other, one call runs by itself, and all have their answers; also across
// pipelines, and with a flight between.
func TestFlightsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			p, q := ints(events.Off(), joined()), ints(events.Off(), joined())
			calls := func(p *resilience.Pipeline[int], key string, op resilience.Operation[int]) resilience.Operation[int] {
				return func(ctx context.Context) (int, error) {
					time.Sleep(time.Second)
					return p.DoKey(ctx, key, op)
				}
			}
			a, b := burst(p, ctx, "a", 2, calls(q, "b", one)), burst(q, ctx, "b", 2, calls(p, "between", calls(p, "a", one)))
			c, d := burst(p, ctx, "c", 2, calls(p, "d", one)), burst(p, ctx, "d", 2, calls(p, "c", one))
			later(time.Minute)
			for _, got := range slices.Concat(a, b, c, d) {
				if !got.returned || got.v != 1 || got.err != nil {
					t.Errorf("%s: %+v", what, got)
				}
			}
			if err := errors.Join(p.Close(t.Context()), q.Close(t.Context())); err != nil {
				t.Error(err)
			}
		}
	})
}
