package resilience

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/telltale-go/telltale/events"
)

// PipelineConfig configures a [Pipeline] of operations that return a T; of those that return an error only ([Pipeline.Run])
// T may be struct{}. Changing it, or its slice of layers, after the pipeline was built changes nothing.
type PipelineConfig[T any] struct {
	// Name tells the pipeline apart in telemetry, where it becomes a label. It is required.
	Name string
	// Layers, the outermost first. None: the operation runs once, and its errors and events are those of a pipeline. Layers
	// of one name get their position added to it, counted from 0 (timeout_0, timeout_3), so that telemetry tells them apart.
	Layers []Layer
	// Classify judges what the operation returned, once, for all layers and for telemetry: nil leaves it as it is (an
	// error is a failure, a value a success), an error is the failure they see, and NoFailure makes an error a success.
	// So a value can be a failure (a 503 response) and an error none (sql.ErrNoRows). The caller gets what the
	// operation returned either way; an operation that wants its caller to get an error for a value returns that error
	// itself. It is called concurrently.
	Classify func(T, error) error
	// Discard gets rid of a value that no caller gets: a failing one that the next attempt supersedes or a Fallback
	// replaces, that of a Hedge's loser, of a run that a Timeout abandoned or of a flight that all have left, and one that
	// was on its way when a handler or a function of the user's ended the goroutine. It is called once for each, concurrently
	// for different ones, and not for calls of Run. Nil: values that are io.Closers are closed. An error is published and
	// changes nothing.
	Discard func(T) error
	// RetryIf is the default of Retry.If and of Hedge.If: which failures are retried.
	RetryIf func(error) bool
	// FailureIf is the default of BreakerConfig.FailureIf: which failures count against the dependency. It is another
	// question than RetryIf: what must not be repeated may well be the dependency's fault.
	FailureIf func(error) bool
	// Hold is for values that live on after the call, such as a response whose body is read later. It wraps the value
	// so that held.Release is called when the value is done with; until then the bulkheads keep its permit and the
	// contexts live. A Timeout inside a Retry covers the attempt only; one outside goes on until the release. Where no
	// layer has anything to release, Hold is not called.
	Hold func(value T, held Held) T
	// JudgeOnReturn: with Hold, breakers learn the outcome when the operation returns and not at the release.
	JudgeOnReturn bool
	// RecoverPanics turns a panic of the operation into a *PanicError. It is never retried. By default a panic goes
	// through to the caller, after all layers let go.
	RecoverPanics bool
	// Bus is where the events go. Nil means events.Default().
	Bus *events.Bus
}

// Pipeline runs operations of one result type through its layers. Make one with [NewPipeline] and share it: it is safe for
// concurrent use.
type Pipeline[T any] struct {
	folded atomic.Pointer[folded[T]]
	mu     sync.Mutex // guards closing
	closed *folded[T] // what folded was before Close
}

// folded is a pipeline made ready to run. It is immutable.
type folded[T any] struct {
	run         Next[T]
	bus         *events.Bus
	source      *events.Source
	hold        func(T, Held) T
	discard     func(context.Context, Call, T)
	owned       bool     // source is this pipeline's alone
	counted     bool     // the operation's runs are counted in a record
	disturbers  []*Chaos // while one is enabled they are, too
	lends       bool     // the record of a call is nobody's when the call has returned
	description Description
	odd         []Warning   // what the rules found
	background  *background // the goroutines that its layers started
	layers      []Layer     // as described; the settings of some change
	nesting     *nesting    // nil: it does not retry
}

// NewPipeline builds a pipeline. Its errors are *ConfigErrors, wrapped or joined, and what does not fit together: the same
// state at two places, a layer for another result type.
func NewPipeline[T any](cfg PipelineConfig[T]) (*Pipeline[T], error) {
	f, err := fold(cfg, nil)
	if err != nil {
		return nil, err
	}
	p := new(Pipeline[T])
	p.folded.Store(f)
	return p, nil
}

// MustPipeline is NewPipeline, and panics with its error.
func MustPipeline[T any](cfg PipelineConfig[T]) *Pipeline[T] { return mustBe(NewPipeline(cfg)) }

// PassThrough returns a pipeline without layers: it runs each operation once. All of them share the name "pass_through".
func PassThrough[T any]() *Pipeline[T] {
	p := new(Pipeline[T])
	p.folded.Store(mustBe(fold(PipelineConfig[T]{Name: passThroughName}, sharedSource(passThroughName))))
	return p
}

const passThroughName = "pass_through"

// Do runs op through the layers and returns what it returned, or the error of the layer that decided.
//
// When ctx ends before there is a result, the error is a *CanceledError; if it has ended already, op does not run. A
// panic of op reaches the caller, unless RecoverPanics is set. After Close the error is ErrClosed.
func (p *Pipeline[T]) Do(ctx context.Context, op Operation[T]) (T, error) {
	return p.do(ctx, Call{attempt: 1}, op)
}

// DoKey is Do with a key for the layers that act by key. The key is in the events, too, so it should not be secret.
func (p *Pipeline[T]) DoKey(ctx context.Context, key string, op Operation[T]) (T, error) {
	return p.do(ctx, Call{key: key, attempt: 1}, op)
}

// Run is Do for an operation that returns an error only. Classify then judges errors alone.
func (p *Pipeline[T]) Run(ctx context.Context, op func(ctx context.Context) error) error {
	return p.RunKey(ctx, "", op)
}

// RunKey is DoKey for an operation that returns an error only.
func (p *Pipeline[T]) RunKey(ctx context.Context, key string, op func(ctx context.Context) error) error {
	if op == nil {
		return errNilOperation
	}
	_, err := p.do(ctx, Call{key: key, attempt: 1, valueless: true}, func(ctx context.Context) (T, error) {
		var none T
		return none, op(ctx)
	})
	return err
}

// Name returns the pipeline's name.
func (p *Pipeline[T]) Name() string {
	if f := p.present(); f != nil {
		return f.description.Name
	}
	return ""
}

// String returns the pipeline's name and those of its layers.
func (p *Pipeline[T]) String() string {
	d := p.Describe()
	names := make([]string, len(d.Layers))
	for i, l := range d.Layers {
		names[i] = l.Name
	}
	return fmt.Sprintf("pipeline %s [%s]", d.Name, strings.Join(names, " > "))
}

// Describe returns the pipeline as data: its layers with their present effective settings. After Close it still does.
func (p *Pipeline[T]) Describe() Description {
	f := p.present()
	if f == nil {
		return Description{}
	}
	d := f.described()
	d.Warnings = append(d.Warnings, f.warnings()...)
	return d
}

// present returns what runs, or ran before Close; nil if the pipeline was not made by NewPipeline.
func (p *Pipeline[T]) present() *folded[T] {
	if f := p.folded.Load(); f != nil {
		return f
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Close refuses further calls with ErrClosed and takes the pipeline off its bus. Calls that run end with their callers;
// what the pipeline shares with others stays usable. It waits, until ctx is done, for the goroutines that the pipeline
// started by then: runs that lost to a hedge, shared flights, what a Timeout abandoned; its error is that of ctx. Closing
// again only waits, also for what calls that still ran have started since.
func (p *Pipeline[T]) Close(ctx context.Context) error {
	p.mu.Lock()
	f := p.folded.Load()
	if f == nil {
		f = p.closed
		p.mu.Unlock()
		if f == nil {
			return nil
		}
		return f.background.wait(ctx)
	}
	p.closed = f
	p.folded.Store(nil)
	p.mu.Unlock()
	if f.owned {
		defer f.bus.Remove(f.source)
	}
	return f.background.wait(ctx)
}

// Goroutines returns how many goroutines that the pipeline has started run at present: the runs of a Hedge, those that
// lost included, shared flights, and what a Timeout runs to abandon it.
func (p *Pipeline[T]) Goroutines() int {
	f := p.present()
	if f == nil {
		return 0
	}
	return f.background.count()
}

// isClosed tells whether Close was called.
func (p *Pipeline[T]) isClosed() bool { return p.folded.Load() == nil && p.present() != nil }

// unusable tells why the pipeline has nothing to run.
func (p *Pipeline[T]) unusable() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed == nil {
		return errNotBuilt
	}
	return ErrClosed
}
