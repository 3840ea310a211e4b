package resilience_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// stormKeys is how many keys there may be in a storm: fewer than come.
const stormKeys = 4

// stormy makes layers whose every function misbehaves, and knows what must be left empty.
type stormy struct {
	bus     *events.Bus
	f       func()
	gate    *counting
	room    *resilience.Bulkhead
	keyed   []*resilience.Keyed
	bulks   []*resilience.Bulkhead
	mu      sync.Mutex
	flights []*resilience.Singleflight
}

func (s *stormy) byKey(name string, kind int) *resilience.Keyed {
	k := resilience.MustKeyed(resilience.KeyedConfig{Name: name, MaxKeys: stormKeys, IdleAfter: 300 * ms, Bus: s.bus,
		Key: func(_ context.Context, call resilience.Call) string { s.f(); return call.Key() },
		New: func(key string) (resilience.Gate, error) {
			if key != "" {
				s.f()
			}
			if kind == 0 {
				return breaker(resilience.BreakerConfig{FailureRatio: 0.7, SlowCall: 200 * ms, SlowRatio: 0.9, MinCalls: 5, Probes: 2, Cooldown: 50 * ms,
					MaxProbeTime: 150 * ms, Window: time.Second, Bus: events.Off(), FailureIf: func(error) bool { s.f(); return true }}), nil
			}
			b := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "x", MaxConcurrent: 20, MaxQueue: 5, MaxWait: 50 * ms, Bus: events.Off()})
			s.mu.Lock()
			s.bulks = append(s.bulks, b)
			s.mu.Unlock()
			return b, nil
		}})
	s.keyed = append(s.keyed, k)
	return k
}

func (s *stormy) flight() *resilience.Singleflight {
	f := resilience.MustSingleflight(resilience.SingleflightConfig{Key: func(ctx context.Context) string {
		s.f()
		k, _ := ctx.Value(nameKey{}).(string)
		return k
	}})
	s.flights = append(s.flights, f)
	return f
}

func (s *stormy) hedge() resilience.Hedge {
	return resilience.Hedge{MaxAttempts: 3, Delay: 50 * ms, If: func(error) bool { s.f(); return true }, OnHedge: func(context.Context) bool { s.f(); return true }}
}

func (s *stormy) retry() resilience.Retry {
	return resilience.Retry{Backoff: resilience.Constant(10 * ms), If: func(error) bool { s.f(); return true }, Rand: func() float64 { s.f(); return 0.5 },
		OnRetry: func(context.Context, resilience.FailedAttempt) bool { s.f(); return true },
		Delay:   func(resilience.FailedAttempt) time.Duration { s.f(); return resilience.KeepDelay }}
}

func (s *stormy) around() resilience.Layer {
	return resilience.Around("again", func(ctx context.Context, next func(context.Context) error) error {
		s.f()
		err := next(ctx)
		s.f()
		if err != nil {
			err = next(ctx)
			s.f()
		}
		return err
	})
}

func (s *stormy) fallback(w *ward) resilience.Layer {
	return resilience.Fallback[*patient]{If: func(error) bool { s.f(); return true }, To: func(_ context.Context, v *patient, err error) (*patient, error) {
		s.f()
		if v != nil && rand.IntN(2) == 0 {
			return v, nil
		}
		if rand.IntN(3) == 0 {
			return nil, errFirst
		}
		w.made.Add(1)
		return &patient{}, nil
	}}
}

func (s *stormy) chaos(w *ward) resilience.Layer {
	return resilience.MustChaos(resilience.ChaosConfig{Name: "chaos", Rate: 0.2, Latency: 10 * ms, Enabled: true, Bus: s.bus,
		If:    func(context.Context, resilience.Call) bool { s.f(); return true },
		Value: func() *patient { s.f(); w.made.Add(1); return &patient{bad: rand.IntN(2) == 0} }})
}

// throughTyped is a typed layer that hands on.
type throughTyped struct{ f func() }

func (throughTyped) LayerInfo() resilience.LayerInfo {
	return resilience.LayerInfo{Name: "throughTyped"}
}
func (p throughTyped) Wrap(next resilience.Next[*patient]) resilience.Next[*patient] {
	return func(ctx context.Context, call resilience.Call, op resilience.Operation[*patient]) (*patient, error) {
		p.f()
		return next(ctx, call, op)
	}
}

// storms are pipelines in which everything misbehaves.
var storms = map[string]func(s *stormy, w *ward) []resilience.Layer{
	"a flight in a hedge": func(s *stormy, w *ward) []resilience.Layer {
		return []resilience.Layer{resilience.Timeout{After: 900 * ms}, s.hedge(), s.gate, s.flight(), s.room, resilience.Timeout{Name: "in", After: 200 * ms}}
	},
	"a hedge in a flight": func(s *stormy, w *ward) []resilience.Layer {
		return []resilience.Layer{s.retry(), s.flight(), resilience.Timeout{After: 300 * ms}, s.gate, s.hedge(), s.room, s.byKey("k", 0)}
	},
	"keyed around everything": func(s *stormy, w *ward) []resilience.Layer {
		return []resilience.Layer{s.byKey("outer", 1), s.byKey("outer2", 0), s.fallback(w), s.retry(), s.byKey("k", 0), s.chaos(w), s.gate, s.flight(), s.byKey("in", 1)}
	},
	"flights in flights": func(s *stormy, w *ward) []resilience.Layer {
		return []resilience.Layer{s.flight(), s.fallback(w), s.gate, s.around(), resilience.Timeout{After: 250 * ms, Abandon: true, MaxAbandoned: 10}, s.flight(), s.room, s.chaos(w)}
	},
	"around": func(s *stormy, w *ward) []resilience.Layer {
		return []resilience.Layer{s.fallback(w), s.around(), s.hedge(), throughTyped{s.f}, s.gate, s.around(), s.room, s.byKey("in", 0)}
	},
	"simple": func(s *stormy, w *ward) []resilience.Layer {
		return []resilience.Layer{s.fallback(w), resilience.Timeout{After: 800 * ms}, s.retry(), s.byKey("in", 0), s.room, s.gate, s.chaos(w),
			breaker(resilience.BreakerConfig{Name: "own", ConsecutiveFailures: 3, Cooldown: 20 * ms, CooldownFunc: func(int) time.Duration { s.f(); return 0 }, Bus: s.bus}),
			resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "rate", Rate: 200, MaxWait: 30 * ms, Bus: s.bus}),
			resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "learn", Bus: s.bus})}
	},
}

// crowd sees that no key is in use any more: there is room for as many new ones as there may be.
func (s *stormy) crowd(t *testing.T, k *resilience.Keyed, where string) {
	for i := range stormKeys {
		key := fmt.Sprint("new ", i)
		lease, err := k.AcquireKey(t.Context(), key)
		if _, ok := k.Get(key); err != nil || !ok {
			t.Errorf("%s: %v has no room for another key, %v", where, k, err)
			return
		}
		defer lease.Release(nil)
	}
}

// endedOnce sees that each execution and each attempt that has begun has ended, once.
func endedOnce(t *testing.T, tape *tape, where string) {
	told := map[[2]uint64]int{}
	for _, e := range heard[events.AttemptStarted](tape) {
		told[[2]uint64{e.Execution, uint64(e.Attempt)}]++
	}
	for _, e := range heard[events.AttemptFinished](tape) {
		told[[2]uint64{e.Execution, uint64(e.Attempt)}] += 10
	}
	for _, e := range heard[events.ExecutionStarted](tape) {
		told[[2]uint64{e.Execution, 0}]++
	}
	for _, e := range heard[events.ExecutionFinished](tape) {
		told[[2]uint64{e.Execution, 0}] += 10
		if e.Working < 0 || e.Working > e.Duration {
			t.Errorf("%s: %v of %v working", where, e.Working, e.Duration)
		}
	}
	for of, n := range told {
		if n != 11 {
			t.Errorf("%s: execution and attempt %v: %d starts, %d ends", where, of, n%10, n/10)
		}
	}
}
