package grpcres

import (
	"errors"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// Config configures a [Client]. Changing it, or its slices, after the client was built changes nothing.
type Config struct {
	// Name tells the client's pipeline apart in telemetry, where it becomes a label. It is required.
	Name string
	// Layers of the pipeline of unary calls, the outermost first. None: they are sent once. A layer that looks at
	// results is a resilience.TypedLayer[any], whose values are replies: pointers to messages.
	Layers []resilience.Layer
	// StreamLayers are the layers of streams, in a pipeline of their own, whose name is Name with ".streams". A Timeout
	// inside of a Retry covers an attempt until the first message; one outside goes on until the stream has ended, as a
	// deadline does, but the server is told the caller's deadline only. Hedges, Singleflights and Timeouts that abandon
	// are not for streams. An empty slice means none. Nil means Layers, in the same pipeline.
	StreamLayers []resilience.Layer
	// RetryIf is the default of resilience.Retry.If: which failures are retried, if the call may be repeated. Nil means
	// resilience.IsTransient: UNAVAILABLE, RESOURCE_EXHAUSTED where the server says when to come back, and timeouts.
	RetryIf func(error) bool
	// FailureIf is the default of resilience.BreakerConfig.FailureIf: which failures count against the server. Nil
	// means UNAVAILABLE, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, and what resilience.IsTransient says: the other codes
	// tell of the request, or nobody knows of what.
	FailureIf func(error) bool
	// Idempotent tells by its full name ("/package.Service/Method") which method may be executed more than once. It is
	// called concurrently, after a failure. Nil means IsIdempotent. See also Methods.
	Idempotent func(method string) bool
	// MaxReplay is how many sent messages of a stream are remembered until its first message comes, so that they can be
	// sent again. With one more the stream is established: it is not retried any more. Zero means 16; negative means
	// that a stream is retried only before anything was sent.
	MaxReplay int
	// JudgeAtFirstMessage has breakers learn how a stream does when its first message comes, not when it ends: for
	// streams that live longer than a breaker's MaxProbeTime.
	JudgeAtFirstMessage bool
	// Bus is where the events go. Nil means events.Default().
	Bus *events.Bus
}

const defaultMaxReplay = 16

func (cfg Config) withDefaults() Config {
	cfg.Layers = slices.Clone(cfg.Layers)
	cfg.StreamLayers = slices.Clone(cfg.StreamLayers)
	if cfg.RetryIf == nil {
		cfg.RetryIf = resilience.IsTransient
	}
	if cfg.FailureIf == nil {
		cfg.FailureIf = isFailure
	}
	if cfg.Idempotent == nil {
		cfg.Idempotent = IsIdempotent
	}
	if cfg.MaxReplay == 0 {
		cfg.MaxReplay = defaultMaxReplay
	}
	if cfg.Bus == nil {
		cfg.Bus = events.Default()
	}
	return cfg
}

// isFailure is the default of Config.FailureIf.
func isFailure(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted:
		return true
	}
	return resilience.IsTransient(err)
}

// check refuses what the pipeline itself does not.
func (cfg Config) check() error {
	var problems []error
	if cfg.Name == "" {
		problems = append(problems, &resilience.ConfigError{
			Type: "grpcres.Config", Field: "Name", Value: "", Allowed: "set: it tells this one apart in telemetry",
		})
	}
	field, layers := "StreamLayers", cfg.StreamLayers
	if layers == nil {
		field, layers = "Layers", cfg.Layers
	}
	for _, l := range layers {
		if name := beside(l); name != "" {
			problems = append(problems, &resilience.ConfigError{
				Type: "grpcres.Config", Field: field, Value: name,
				Allowed: "layers that run one attempt of a stream after another: give streams StreamLayers of their own",
			})
		}
	}
	return errors.Join(problems...)
}
