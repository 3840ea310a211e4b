package httpres

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/telltale-go/telltale/resilience"
)

// NewPipeline makes a pipeline as a Transport has one, for [WithPipeline]. Idempotent, MaxBodyBuffer, AttemptHeader and
// TimeoutHeader are those of the transport that sends the request, so they must not be set. Its error is that of
// resilience.NewPipeline, or tells which option is wrong.
func NewPipeline(cfg Config) (*resilience.Pipeline[*http.Response], error) {
	if err := cfg.checkNoTransport(); err != nil {
		return nil, fmt.Errorf("httpres: pipeline %q: %w", cfg.Name, err)
	}
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("httpres: pipeline %q: %w", cfg.Name, err)
	}
	return cfg.pipeline()
}

// MustPipeline is NewPipeline, and panics with its error.
func MustPipeline(cfg Config) *resilience.Pipeline[*http.Response] {
	p, err := NewPipeline(cfg)
	if err != nil {
		panic(err)
	}
	return p
}

// pipeline makes the pipeline of a configuration with its defaults.
func (cfg Config) pipeline() (*resilience.Pipeline[*http.Response], error) {
	layers, err := made(cfg.Layers, cfg.Bus)
	if err != nil {
		return nil, fmt.Errorf("httpres: pipeline %q: %w", cfg.Name, err)
	}
	return resilience.NewPipeline(resilience.PipelineConfig[*http.Response]{
		Name:          cfg.Name,
		Layers:        asking(layers),
		RetryIf:       cfg.RetryIf,
		FailureIf:     cfg.FailureIf,
		Classify:      cfg.classify,
		Discard:       cfg.discard,
		Hold:          hold,
		JudgeOnReturn: true,
		Bus:           cfg.Bus,
	})
}

// classify makes a failure of a response that has one of the FailureStatuses. Errors the attempt has judged already.
func (cfg Config) classify(resp *http.Response, err error) error {
	if err != nil || resp == nil || !slices.Contains(cfg.FailureStatuses, resp.StatusCode) {
		return err
	}
	failure := newStatusError(resp)
	if b := attached(resp); b != nil && b.attempt != nil {
		return b.attempt.call.marked(failure, failure)
	}
	return failure
}

type pipelineKey struct{}

// WithPipeline has requests with the context go through p instead of the pipeline of the Transport that sends them: the
// caller of a client library knows better than its author. Nil means the transport's own. Redirects that an http.Client
// follows go through p, too; a Transport that is the base of another does not.
//
// p is made by [NewPipeline], or has no layers: resilience.PassThrough[*http.Response](). One of another origin judges no
// status, and one that ends an attempt's context when it returns, as a Timeout does without PipelineConfig.Hold, leaves
// no body to be read: such a request fails.
func WithPipeline(ctx context.Context, p *resilience.Pipeline[*http.Response]) context.Context {
	return context.WithValue(ctx, pipelineKey{}, p)
}

// pipelineFor returns the pipeline that a request goes through.
func (t *Transport) pipelineFor(ctx context.Context) *resilience.Pipeline[*http.Response] {
	p, _ := ctx.Value(pipelineKey{}).(*resilience.Pipeline[*http.Response])
	if p == nil {
		return t.pipeline
	}
	if outer := callOf(ctx); outer != nil && outer.pipeline == p {
		return t.pipeline // it has had its turn, in the transport outside
	}
	return p
}

var errNotHeld = errors.New("httpres: the pipeline given to WithPipeline ended the response's context before its body was read: " +
	"make it with httpres.NewPipeline")

// held tells whether a response that came through another's pipeline can be read.
func held(resp *http.Response) bool {
	b := attached(resp)
	return b == nil || b.attempt == nil || b.ReadCloser == http.NoBody || b.holds || b.attempt.Err() == nil
}
