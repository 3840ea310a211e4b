package grpcres

import (
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// What [Standard] sets.
const (
	// StandardTimeout limits a unary call in all.
	StandardTimeout = 30 * time.Second
	// StandardAttempts counts the first one.
	StandardAttempts = 3
	// StandardAttemptTimeout limits each attempt of a unary call.
	StandardAttemptTimeout = 10 * time.Second
	// StandardFailureRatio of at least StandardMinCalls within 30 s opens the breaker.
	StandardFailureRatio = 0.5
	// StandardMinCalls is how many calls the breaker needs to judge.
	StandardMinCalls = 10
	// StandardCooldown is how long the breaker stays open before it probes.
	StandardCooldown = 10 * time.Second
)

// Standard returns a configuration for the calls to one dependency: a total timeout, a retry, a breaker and a timeout for
// each attempt. Streams have the same retry and the same breaker, which learns how they do when their first message
// comes, and no timeouts, since nobody knows how long they live: a deadline on their context is theirs. Each call of Standard
// makes a breaker of its own, named name, on bus; nil means events.Default().
func Standard(name string, bus *events.Bus) (Config, error) {
	breaker, err := resilience.NewBreaker(resilience.BreakerConfig{
		Name: name, FailureRatio: StandardFailureRatio, MinCalls: StandardMinCalls, Cooldown: StandardCooldown, Bus: bus,
	})
	if err != nil {
		return Config{}, err
	}
	retry := resilience.Retry{MaxAttempts: StandardAttempts}
	return Config{
		Name: name,
		Layers: []resilience.Layer{
			resilience.Timeout{Name: "total", After: StandardTimeout}, retry, breaker,
			resilience.Timeout{Name: "attempt", After: StandardAttemptTimeout},
		},
		StreamLayers:        []resilience.Layer{retry, breaker},
		JudgeAtFirstMessage: true,
		Bus:                 bus,
	}, nil
}
