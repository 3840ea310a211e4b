package resilience

import (
	"context"
	"sync"

	"github.com/telltale-go/telltale/events"
)

const oneOffName = "one_off"

// Do runs op through layers that are put together for this call alone; what they share with other calls are the
// breakers and limiters among them. It is for the odd call: a [Pipeline] is built once, checks its options once, and
// has a name in telemetry, where all calls of Do and Run share the name "one_off".
func Do[T any](ctx context.Context, op Operation[T], layers ...Layer) (T, error) {
	f, err := fold(PipelineConfig[T]{Name: oneOffName, Layers: layers}, sharedSource(oneOffName))
	if err != nil {
		var none T
		return none, err
	}
	return f.do(ctx, Call{attempt: 1}, op)
}

// Run is Do for an operation that returns an error only.
func Run(ctx context.Context, op func(ctx context.Context) error, layers ...Layer) error {
	if op == nil {
		return errNilOperation
	}
	_, err := Do(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, op(ctx) }, layers...)
	return err
}

// sharedSources are the sources of pipelines that have none of their own, made when first needed.
var sharedSources struct {
	mu sync.Mutex
	of map[string]*events.Source

	nesting nesting // of all calls of Do and Run; it has its own lock
}

func sharedSource(name string) *events.Source {
	shared := func() *events.Source { return sharedSources.of[name] }
	sharedSources.mu.Lock()
	s := shared()
	sharedSources.mu.Unlock()
	if s != nil {
		return s
	}
	spec := events.SourceSpec{Pipeline: name, Type: events.TypePipeline, Namesakes: true}
	if name == oneOffName { // one layer of each type stands for all
		for i, typ := range []string{events.TypeRetry, events.TypeTimeout, events.TypeHedge, events.TypeBreaker, events.TypeBulkhead,
			events.TypeRateLimiter, events.TypeAdaptiveLimiter, events.TypeFallback, events.TypeChaos, events.TypeCustom} {
			spec.Layers = append(spec.Layers, events.SourceSpec{Pipeline: name, Layer: typ, Type: typ, Position: i})
		}
	}
	made := events.Default().NewSource(spec) // without the lock: whoever hears of it may make a call
	sharedSources.mu.Lock()
	if s = shared(); s == nil {
		s = made
		if sharedSources.of == nil {
			sharedSources.of = map[string]*events.Source{}
		}
		sharedSources.of[name] = s
	}
	sharedSources.mu.Unlock()
	if s != made {
		events.Default().Remove(made)
	}
	return s
}

// layerSource returns the source of a layer of a pipeline. Where pipelines share one, it is the one that stands for its
// type.
func layerSource(pipeline *events.Source, shared bool, position int, typ string) *events.Source {
	layers := pipeline.Layers()
	if !shared {
		return layers[position]
	}
	for _, l := range layers {
		if l.Type() == typ {
			return l
		}
	}
	if len(layers) == 0 {
		return pipeline
	}
	return layers[len(layers)-1]
}
