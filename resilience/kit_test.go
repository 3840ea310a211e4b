package resilience_test

import (
	"context"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// kitGates are the gates of this package, as the kit is told of them.
var kitGates = map[string]struct {
	new     func() resilience.Gate
	options resiliencetest.GateOptions
}{
	"a breaker": {
		func() resilience.Gate { return quietBreaker("db") },
		resiliencetest.GateOptions{Refusing: func() resilience.Gate {
			b := quietBreaker("db")
			b.ForceOpen()
			return b
		}},
	},
	"a breaker that counts in a window": {
		func() resilience.Gate { return breakerOn(events.Off(), 0.5) },
		resiliencetest.GateOptions{Refusing: func() resilience.Gate {
			b := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Bus: events.Off()}) // all its probes are out
			_ = b.Run(context.Background(), fail)
			time.Sleep(time.Minute)
			_, _ = b.Admit(context.Background(), resilience.Call{})
			return b
		}},
	},
	"a bulkhead": {
		func() resilience.Gate { return roomFor(3) },
		resiliencetest.GateOptions{Concurrent: 3},
	},
	"a bulkhead with a queue": {
		func() resilience.Gate {
			return resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", MaxConcurrent: 8, MaxQueue: 10, Bus: events.Off()})
		},
		resiliencetest.GateOptions{Concurrent: 8},
	},
	"a bulkhead with a short queue": {
		func() resilience.Gate {
			return resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", MaxConcurrent: 2, MaxQueue: 1, MaxWait: time.Second, Bus: events.Off()})
		},
		resiliencetest.GateOptions{Concurrent: 2},
	},
	"a rate limiter": {
		func() resilience.Gate { return rateLimiterOn(events.Off(), 1000) },
		resiliencetest.GateOptions{Refusing: func() resilience.Gate { return refusingRate(events.Off()) }},
	},
	"a rate limiter that has calls wait": {
		func() resilience.Gate {
			return resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "rate", Rate: 1000, MaxWait: time.Hour, Bus: events.Off()})
		},
		resiliencetest.GateOptions{},
	},
	"a bulkhead for each key": {
		func() resilience.Gate { return byKey(events.Off(), roomEach, nil) },
		resiliencetest.GateOptions{Concurrent: 1},
	},
	"a breaker for each key": {
		func() resilience.Gate { return byKey(events.Off(), fragileEach, nil) },
		resiliencetest.GateOptions{Refusing: func() resilience.Gate {
			k := byKey(events.Off(), fragileEach, nil)
			_ = k.RunKey(context.Background(), "", fail)
			return k
		}},
	},
	"a gate of the user's": {
		func() resilience.Gate { return &counting{name: "own"} },
		resiliencetest.GateOptions{Refusing: func() resilience.Gate {
			return &counting{name: "own", refuse: resilience.Reject(events.ReasonShed, time.Second)}
		}},
	},
}

// PITFALL 22, 24, 25, 27; PIPE-13, PIPE-20, PIPE-26, LIM-03, LIM-04, LIM-05
func TestOurGatesKeepWhatEveryGateMust(t *testing.T) {
	for name, gate := range kitGates {
		t.Run(name, func(t *testing.T) {
			resiliencetest.TestGate(t, gate.new, gate.options)
			resiliencetest.TestLayer[string](t, func() resilience.Layer { return hasRoom(gate.new()) })
		})
	}
}

// hasRoom returns a layer that is not refused in the checks of layers, which run many calls at once and have some fail.
func hasRoom(gate resilience.Gate) resilience.Layer {
	switch gate.(type) {
	case *resilience.Bulkhead:
		return roomFor(100)
	case *resilience.Breaker:
		return breakerOn(events.Off(), 1)
	case *resilience.Keyed:
		return byKey(events.Off(), func(string) (resilience.Gate, error) { return roomFor(100), nil }, nil)
	}
	return gate
}

// PITFALL 22, 23, 29; PIPE-04, PIPE-13, PIPE-20, PIPE-26, PIPE-28
func TestOurLayersKeepWhatEveryLayerMust(t *testing.T) {
	for name, layer := range map[string]func() resilience.Layer{
		"a retry":    func() resilience.Layer { return resilience.Retry{MaxAttempts: 1} },
		"a timeout":  func() resilience.Layer { return resilience.Timeout{After: 24 * time.Hour} },
		"no timeout": func() resilience.Layer { return resilience.Timeout{After: -1} },
		"a hedge":    func() resilience.Layer { return resilience.Hedge{MaxAttempts: 1} },
		"a timeout that abandons": func() resilience.Layer {
			return resilience.Timeout{After: 24 * time.Hour, Abandon: true}
		},
		"an around": func() resilience.Layer {
			return resilience.Around("around", func(ctx context.Context, next func(context.Context) error) error { return next(ctx) })
		},
		"a chaos that is off": func() resilience.Layer {
			return resilience.MustChaos(resilience.ChaosConfig{Name: "drill", Rate: 1, Err: errBoom, Bus: events.Off()})
		},
		"a chaos of no delay": func() resilience.Layer {
			return resilience.MustChaos(resilience.ChaosConfig{Name: "drill", Rate: 1, Latency: 1, Enabled: true, Bus: events.Off()})
		},
	} {
		t.Run(name, func(t *testing.T) { resiliencetest.TestLayer[*reply](t, layer) })
	}
	t.Run("a typed layer", func(t *testing.T) {
		resiliencetest.TestTypedLayer(t, func() resilience.TypedLayer[int] {
			return typed[int](func(next resilience.Next[int]) resilience.Next[int] { return next })
		})
	})
}
