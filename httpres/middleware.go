package httpres

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// MiddlewareConfig configures a [Middleware]. Changing it, or its slice of layers, after the middleware was built changes
// nothing.
type MiddlewareConfig struct {
	// Name tells the middleware's pipeline apart in telemetry, where it becomes a label. It is required.
	Name string
	// Layers that a request passes, the outermost first: an AdaptiveLimiter or a Bulkhead, for how many requests are served
	// at once, a RateLimiter, a Keyed of these for each client, a Timeout. A request is served once: a Retry, a Hedge, a
	// Singleflight and a Timeout that abandons are refused.
	Layers []resilience.Layer
	// Priority tells how much a request matters when not all can be served: see PriorityFrom. Nil means that its context's
	// priority holds. It is called concurrently; a panic of it, as of Timeout and Key, is net/http's to handle.
	Priority func(*http.Request) resilience.Priority
	// Timeout tells how long the client still waits, false if that is not known: see TimeoutFrom. The request's context then
	// ends so; one whose time is over is not served. Nil means that no client says so.
	Timeout func(*http.Request) (time.Duration, bool)
	// Key tells the key for layers that act by key, such as who the client is. It is in the events, too, so it should not be
	// secret. Nil means none.
	Key func(*http.Request) string
	// RetryAfter is what a client that is turned away is told to wait, where the layer that did it does not know better. It
	// is rounded up to whole seconds. Zero means 1 s; negative means that it is told nothing.
	RetryAfter time.Duration
	// Respond answers a request that was not served, or whose handler panicked before it wrote anything: with the status, and
	// a Retry-After header that is set already. err is why; it is not for the client. Nil means a problem document: see
	// Middleware.
	Respond func(w http.ResponseWriter, r *http.Request, status int, err error)
	// Bus is where the events go. Nil means events.Default().
	Bus *events.Bus
}

const defaultRetryAfter = time.Second

// Middleware has the requests of a server pass through a pipeline before they are served, so that the server turns away
// what it cannot serve in time, instead of serving everything too late. Make one with [NewMiddleware] and share it; it is
// safe for concurrent use. All the handlers that it wraps share its layers.
//
// A request that is turned away gets 429 where a rate is exceeded, and 503 where the server has enough to do (a bulkhead,
// an adaptive limiter), where a breaker is open, where a Timeout passed before anything was written, and after Close; both
// with a Retry-After header. One whose client's time ran out (see MiddlewareConfig.Timeout) gets 504; one whose client left, 499,
// for the logs of whatever stands further out. The body is a problem document of RFC 9457.
//
// A handler's panic becomes 500, and is in the ExecutionFinished, as a *resilience.PanicError; it is logged as net/http
// does it, with the server's ErrorLog. If something was written before, the connection is aborted, so that the client does
// not take the half for the whole. A panic with http.ErrAbortHandler goes on as it is. An answer from 500 on counts as a
// failure, an Execution as the time until the handler has returned.
//
// The handler's http.ResponseWriter is an http.Flusher, http.Hijacker and http.Pusher where the server's is, and works with
// http.ResponseController. What holds a connection, such as a WebSocket, holds its permits, too.
type Middleware struct {
	cfg      MiddlewareConfig // with defaults
	pipeline *resilience.Pipeline[int]
}

// NewMiddleware makes a middleware. Its error is that of resilience.NewPipeline, or tells which option is wrong.
func NewMiddleware(cfg MiddlewareConfig) (*Middleware, error) {
	cfg.Layers = slices.Clone(cfg.Layers)
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("httpres: middleware %q: %w", cfg.Name, err)
	}
	if cfg.RetryAfter == 0 {
		cfg.RetryAfter = defaultRetryAfter
	}
	if cfg.Respond == nil {
		cfg.Respond = respondProblem
	}
	pipeline, err := resilience.NewPipeline(resilience.PipelineConfig[int]{
		Name: cfg.Name, Layers: cfg.Layers, Classify: classifyServed, RecoverPanics: true, Bus: cfg.Bus,
	})
	if err != nil {
		return nil, err
	}
	return &Middleware{cfg: cfg, pipeline: pipeline}, nil
}

// MustMiddleware is NewMiddleware, and panics with its error.
func MustMiddleware(cfg MiddlewareConfig) *Middleware {
	m, err := NewMiddleware(cfg)
	if err != nil {
		panic(err)
	}
	return m
}

func (cfg MiddlewareConfig) check() error {
	var problems []error
	if cfg.Name == "" {
		problems = append(problems, &resilience.ConfigError{
			Type: "httpres.MiddlewareConfig", Field: "Name", Value: "", Allowed: "set: it tells this one apart in telemetry",
		})
	}
	for _, l := range cfg.Layers {
		if !servesOnce(l) {
			problems = append(problems, &resilience.ConfigError{Type: "httpres.MiddlewareConfig", Field: "Layers", Value: fmt.Sprintf("%T", l),
				Allowed: "gates, and Timeouts that do not abandon: a request is served once, on its own goroutine"})
		}
	}
	return errors.Join(problems...)
}

// servesOnce tells whether a layer runs what is inside it once, on the call's goroutine. Of the user's own that is assumed:
// see served.serve.
func servesOnce(l resilience.Layer) bool {
	switch l := l.(type) {
	case resilience.Retry, *resilience.Retry, resilience.Hedge, *resilience.Hedge, *resilience.Singleflight, toBeMade:
		return false
	case resilience.Timeout:
		return !l.Abandon
	case *resilience.Timeout:
		return l == nil || !l.Abandon // the pipeline refuses nil
	}
	return true
}

// Wrap returns a handler that has next serve what the layers let through. It panics if there is no next.
func (m *Middleware) Wrap(next http.Handler) http.Handler {
	if m.pipeline == nil {
		panic("httpres: the Middleware was not made by NewMiddleware")
	}
	if next == nil {
		panic("httpres: Middleware.Wrap: the handler is nil")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(next, w, r) })
}

// Describe returns the pipeline as data.
func (m *Middleware) Describe() resilience.Description {
	if m.pipeline == nil {
		return resilience.Description{}
	}
	return m.pipeline.Describe()
}

// Close turns further requests away with 503 and takes the middleware off its bus. Requests that are served go on. Closing
// again does nothing.
func (m *Middleware) Close(ctx context.Context) error {
	if m.pipeline == nil {
		return nil
	}
	return m.pipeline.Close(ctx)
}

// PriorityFrom returns a MiddlewareConfig.Priority that reads the priority from a header: "sheddable", "low", "normal" or
// "critical", in any case. Anything else is normal. Read it only from clients that are trusted to tell the truth.
func PriorityFrom(header string) func(*http.Request) resilience.Priority {
	return func(r *http.Request) resilience.Priority { return parsePriority(r.Header.Get(header)) }
}
