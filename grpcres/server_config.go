package grpcres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// ServerConfig configures a [Server]. Changing it, or its slice, after the server was built changes nothing.
type ServerConfig struct {
	// Name tells the server's pipeline apart in telemetry, where it becomes a label. It is required.
	Name string
	// Layers of the pipeline that calls and streams are handled in, the outermost first: a resilience.Bulkhead or an
	// AdaptiveLimiter to shed load, a RateLimiter, a Timeout. A handler runs once, and is waited for:
	// a Retry, a Hedge, a Singleflight and a Timeout that abandons are refused.
	Layers []resilience.Layer
	// FailureIf is the default of resilience.BreakerConfig.FailureIf. Nil means the same as for a Client.
	FailureIf func(error) bool
	// Priority tells the priority of a call or stream, by its context, where the metadata is, and its full method name.
	// It is called concurrently, before the layers. Nil means PriorityOf, which believes what the client says: where
	// clients are not to be trusted, decide by who they are.
	Priority func(ctx context.Context, method string) resilience.Priority
	// RetryAfter is when a client that is turned away is told to come back, where the layer that refuses does not know.
	// Zero means 1 s; negative means that it is not told.
	RetryAfter time.Duration
	// Bus is where the events go. Nil means events.Default().
	Bus *events.Bus
}

const defaultRetryAfter = time.Second

func (cfg ServerConfig) withDefaults() ServerConfig {
	cfg.Layers = slices.Clone(cfg.Layers)
	if cfg.FailureIf == nil {
		cfg.FailureIf = isFailure
	}
	if cfg.Priority == nil {
		cfg.Priority = func(ctx context.Context, _ string) resilience.Priority { return PriorityOf(ctx) }
	}
	if cfg.RetryAfter == 0 {
		cfg.RetryAfter = defaultRetryAfter
	}
	return cfg
}

func (cfg ServerConfig) check() error {
	var problems []error
	if cfg.Name == "" {
		problems = append(problems, &resilience.ConfigError{
			Type: "grpcres.ServerConfig", Field: "Name", Value: "", Allowed: "set: it tells this one apart in telemetry",
		})
	}
	for _, l := range cfg.Layers {
		name := beside(l)
		switch l.(type) {
		case resilience.Retry, *resilience.Retry:
			name = "a Retry"
		}
		if name != "" {
			problems = append(problems, &resilience.ConfigError{
				Type: "grpcres.ServerConfig", Field: "Layers", Value: name, Allowed: "layers that run a handler once, and wait for it",
			})
		}
	}
	return errors.Join(problems...)
}
