package grpcres

import (
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// What the preset [Standard] consists of. Timeouts and attempts are those of HTTP.
const (
	StandardTotalTimeout        = httpres.StandardTotalTimeout   // of a whole unary call
	StandardMaxAttempts         = httpres.StandardMaxAttempts    // the first included
	StandardBackoff             = httpres.StandardBackoff        // before the second attempt, with jitter
	StandardBackoffFactor       = httpres.StandardBackoffFactor  // by which it grows
	StandardAttemptTimeout      = httpres.StandardAttemptTimeout // of each attempt of a unary call
	StandardFirstMessageTimeout = httpres.StandardTotalTimeout   // of each attempt of a stream, until its first message

	StandardFailureRatio = 0.5              // opens the breaker
	StandardMinCalls     = 10               // at least, in 30 s
	StandardCooldown     = 10 * time.Second // until an open breaker lets one probe through
)

// Standard returns the configuration of a client for calling a service: thirty seconds for each unary call, up to three
// attempts, and a breaker. Streams have the same retry and the same breaker, which learns how they do from their first
// message; each attempt has thirty seconds to give it, and from then on a stream lives as long as its caller wants. A
// stream that may be silent longer at first has StreamLayers of its own. The values are the constants of this package;
// to have others, write the layers out, or change one:
//
//	cfg := grpcres.Standard("payments")
//	cfg.Idempotent = grpcres.Methods("/payments.Payments/Get")
//	client := grpcres.MustClient(cfg)
//
// The breaker is made by NewClient, on Config.Bus, for each client anew: these layers are for it alone.
func Standard(name string) Config {
	retry := resilience.Retry{
		MaxAttempts: StandardMaxAttempts,
		Backoff:     resilience.Exponential{Base: StandardBackoff, Factor: StandardBackoffFactor},
		Jitter:      resilience.JitterEqual,
	}
	breaker := &breakerToBe{name}
	return Config{
		Name: name,
		Layers: []resilience.Layer{
			resilience.Timeout{Name: "total", After: StandardTotalTimeout},
			retry,
			breaker,
			resilience.Timeout{Name: "attempt", After: StandardAttemptTimeout},
		},
		StreamLayers: []resilience.Layer{
			retry,
			breaker,
			resilience.Timeout{Name: "first_message", After: StandardFirstMessageTimeout},
		},
		JudgeAtFirstMessage: true,
	}
}

// breakerToBe is a breaker that is made for each client, on its bus. A pipeline that is not made by this package
// refuses it, as it knows no such layer.
type breakerToBe struct{ name string }

// LayerInfo implements resilience.Layer.
func (b *breakerToBe) LayerInfo() resilience.LayerInfo {
	return resilience.LayerInfo{Name: b.name, Type: events.TypeBreaker}
}

// made returns the configuration with what is to be made.
func (cfg Config) made() (Config, error) {
	breakers := map[*breakerToBe]*resilience.Breaker{}
	for _, layers := range [][]resilience.Layer{cfg.Layers, cfg.StreamLayers} {
		for i, l := range layers {
			to, ok := l.(*breakerToBe)
			if !ok {
				continue
			}
			if breakers[to] == nil {
				b, err := resilience.NewBreaker(resilience.BreakerConfig{
					Name: to.name, FailureRatio: StandardFailureRatio, MinCalls: StandardMinCalls, Cooldown: StandardCooldown, Bus: cfg.Bus,
				})
				if err != nil {
					return cfg, err
				}
				breakers[to] = b
			}
			layers[i] = breakers[to]
		}
	}
	return cfg, nil
}
