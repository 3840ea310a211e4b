package httpres

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/telltale-go/telltale/resilience"
)

// Transport is an http.RoundTripper whose requests go through a pipeline. Make one with [NewTransport] and share it: it is
// safe for concurrent use.
type Transport struct {
	base     http.RoundTripper
	cfg      Config // with defaults
	pipeline *resilience.Pipeline[*http.Response]
	repeats  bool // a layer may send a request more than once
	outer    outerClient
}

var (
	errNilRequest = errors.New("httpres: the request is nil")
	errNotMade    = errors.New("httpres: the Transport was not made by NewTransport")
	errNoAnswer   = errors.New("httpres: neither a response nor an error came back")
)

// NewTransport makes a transport that sends its requests with base. Nil means http.DefaultTransport. Its error is that of
// resilience.NewPipeline, or tells which option is wrong.
func NewTransport(base http.RoundTripper, cfg Config) (*Transport, error) {
	if base == nil {
		base = http.DefaultTransport
	}
	cfg = cfg.withDefaults()
	t := &Transport{base: base, cfg: cfg, repeats: slices.ContainsFunc(cfg.Layers, repeats)}
	if err := errors.Join(cfg.check(), checkBase(base)); err != nil {
		return nil, fmt.Errorf("httpres: transport %q: %w", cfg.Name, err)
	}
	pipeline, err := cfg.pipeline()
	if err != nil {
		return nil, err
	}
	t.pipeline = pipeline
	t.outer.expect(pipeline.Describe())
	return t, nil
}

// MustTransport is NewTransport, and panics with its error.
func MustTransport(base http.RoundTripper, cfg Config) *Transport {
	t, err := NewTransport(base, cfg)
	if err != nil {
		panic(err)
	}
	return t
}

// RoundTrip implements http.RoundTripper. It sends clones of req, whose context is the attempt's, and never changes req
// but for reading and closing its body. An error is the base's, or that of the layer that decided: see
// resilience.KindOf.
func (t *Transport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	if req == nil {
		return nil, errNilRequest
	}
	body := bodyOf(req)
	defer func() { body.done(resp != nil) }()
	if t.pipeline == nil {
		return nil, errNotMade
	}
	c := &call{transport: t, pipeline: t.pipelineFor(req.Context()), req: req, host: hostOf(req.URL), body: body, repeats: t.repeats}
	foreign := c.pipeline != t.pipeline
	c.repeats = t.repeats || foreign
	c.idempotent = t.cfg.Idempotent(req)
	if r, ok := body.(*recording); ok && c.repeats && c.idempotent {
		r.keep(t.cfg.MaxBodyBuffer)
	}
	ctx, stop := withCancel(req)
	c.Context = ctx
	defer func() {
		c.finish()
		if stop != nil && resp == nil {
			stop()
		}
	}()
	t.look(ctx, c)
	resp, err = c.pipeline.Do(c, sendOnce)
	if err != nil {
		return nil, withoutMarks(err)
	}
	if resp == nil { // a layer of the user's
		return nil, errNoAnswer
	}
	if foreign && !held(resp) {
		resp.Body.Close()
		return nil, errNotHeld
	}
	if stop != nil {
		resp = holdAlso(resp, func(error) { stop() })
	}
	return handOver(resp), nil
}

// CloseIdleConnections closes the base's idle connections, if it has such a method: http.Client.CloseIdleConnections
// asks for it.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Describe returns the pipeline as data.
func (t *Transport) Describe() resilience.Description {
	if t.pipeline == nil {
		return resilience.Description{}
	}
	return t.pipeline.Describe()
}

// Close refuses further requests with resilience.ErrClosed and takes the transport off its bus. Requests that run and
// bodies that are read go on. The base, which may be shared, is left alone. Closing again does nothing.
func (t *Transport) Close(ctx context.Context) error {
	if t.pipeline == nil {
		return nil
	}
	return t.pipeline.Close(ctx)
}
