package httpres

import (
	"net/url"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// What the presets [Standard] and [StandardHedging] consist of.
const (
	StandardMaxConcurrent  = 1000                   // requests at once, until their bodies are closed
	StandardTotalTimeout   = 30 * time.Second       // of a whole request, until its body is closed
	StandardMaxAttempts    = 3                      // the first included
	StandardBackoff        = 250 * time.Millisecond // before the second attempt, with jitter
	StandardBackoffFactor  = 2.0                    // by which it grows
	StandardFailureRatio   = 0.1                    // opens the breaker of a host
	StandardMinCalls       = 100                    // at least, in the window
	StandardWindow         = 30 * time.Second       // in which failures are counted
	StandardCooldown       = 5 * time.Second        // until an open breaker lets one probe through
	StandardAttemptTimeout = 9 * time.Second        // of each attempt, until its headers: three of them, and the waits between, fit in the total

	StandardHedgeAttempts = 2           // StandardHedging's, the first included
	StandardHedgeDelay    = time.Second // that the first is given before the second starts
)

// Standard returns the configuration of a transport for calling a service: at most a thousand requests at once, thirty
// seconds for each, up to three attempts, and a breaker for each host. The values are the constants of this package; to
// have others, write the layers out, or change one:
//
//	cfg := httpres.Standard("payments")
//	cfg.Bus = bus
//	client := &http.Client{Transport: httpres.MustTransport(nil, cfg)}
//
// The total limit covers the response's body: it is no preset for long downloads and streams. The bulkhead and the breakers
// are made by NewTransport or NewPipeline, on Config.Bus, for each anew: these layers are for them alone.
func Standard(name string) Config {
	return Config{Name: name, Layers: []resilience.Layer{
		standardBulkhead(name),
		resilience.Timeout{Name: "total", After: StandardTotalTimeout},
		resilience.Retry{
			MaxAttempts: StandardMaxAttempts,
			Backoff:     resilience.Exponential{Base: StandardBackoff, Factor: StandardBackoffFactor},
			Jitter:      resilience.JitterEqual,
		},
		standardBreakers(name),
		resilience.Timeout{Name: "attempt", After: StandardAttemptTimeout},
	}}
}

// StandardHedging is [Standard] with a hedge in the place of the retry: when there is no answer after a second, or a failure
// before, the request is sent once more. It is for requests that the server can bear twice. With endpoints, of
// which the scheme and the host count, the first attempt goes to the first, the hedge to the next, and both past one whose
// breaker is open (see [Route]); without, both go where the request says.
func StandardHedging(name string, endpoints ...*url.URL) Config {
	layers := []resilience.Layer{
		standardBulkhead(name),
		resilience.Timeout{Name: "total", After: StandardTotalTimeout},
		resilience.Hedge{MaxAttempts: StandardHedgeAttempts, Delay: StandardHedgeDelay},
	}
	if len(endpoints) > 0 {
		layers = append(layers, Route{To: Endpoints(endpoints...)})
	}
	return Config{Name: name, Layers: append(layers,
		standardBreakers(name),
		resilience.Timeout{Name: "attempt", After: StandardAttemptTimeout},
	)}
}

func standardBulkhead(name string) resilience.Layer {
	return toBeMade{name + "-bulkhead", events.TypeBulkhead, func(name string, bus *events.Bus) (resilience.Layer, error) {
		return resilience.NewBulkhead(resilience.BulkheadConfig{Name: name, MaxConcurrent: StandardMaxConcurrent, Bus: bus})
	}}
}

func standardBreakers(name string) resilience.Layer {
	return toBeMade{name + "-hosts", events.TypeBreaker, func(name string, bus *events.Bus) (resilience.Layer, error) {
		return NewBreakerPerHost(resilience.BreakerConfig{
			Name: name, FailureRatio: StandardFailureRatio, MinCalls: StandardMinCalls, Window: StandardWindow,
			Cooldown: StandardCooldown, Bus: bus,
		})
	}}
}

// toBeMade is a layer with a state of its own for each pipeline, on the pipeline's bus. A pipeline that is not made by this
// package refuses it, as it knows no such layer.
type toBeMade struct {
	name, typ string
	make      func(name string, bus *events.Bus) (resilience.Layer, error)
}

// LayerInfo implements resilience.Layer.
func (l toBeMade) LayerInfo() resilience.LayerInfo {
	return resilience.LayerInfo{Name: l.name, Type: l.typ}
}

// made returns the layers with what is to be made.
func made(layers []resilience.Layer, bus *events.Bus) ([]resilience.Layer, error) {
	all := make([]resilience.Layer, len(layers))
	for i, l := range layers {
		all[i] = l
		if l, ok := l.(toBeMade); ok {
			var err error
			if all[i], err = l.make(l.name, bus); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
