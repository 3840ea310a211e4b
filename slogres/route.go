package slogres

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	slogmulti "github.com/samber/slog-multi"

	"github.com/telltale-go/telltale/events"
)

// Router is a [slog.Handler] that sends some records to one handler and all of them to another. Make one with [Route]. It
// is safe for concurrent use.
type Router struct {
	slog.Handler
	failures *atomic.Uint64 // shared by those that WithAttrs and WithGroup derive
}

// Route returns a handler that sends the transitions of breakers, and every record of level WARN and above, to alerts,
// and every record to all; each as far as it is enabled for the record's level. It refuses nil handlers.
//
// A handler's error or panic affects neither the other handler nor the caller; [Router.Errors] counts them. Handlers run
// one after the other, alerts first, and one that ends the goroutine (runtime.Goexit) keeps the next from the record.
func Route(alerts, all slog.Handler) (*Router, error) {
	if alerts == nil || all == nil {
		return nil, errors.New("slogres: nil handler for Route")
	}
	failures := new(atomic.Uint64)
	return &Router{slogmulti.Router().
		Add(guarded(alerts, failures), isAlert).
		Add(guarded(all, failures)).
		Handler(), failures}, nil
}

// MustRoute is [Route] that panics with the error.
func MustRoute(alerts, all slog.Handler) *Router {
	r, err := Route(alerts, all)
	if err != nil {
		panic(err)
	}
	return r
}

// Errors returns how often one of the handlers has failed or panicked so far.
func (r *Router) Errors() uint64 { return r.failures.Load() }

// WithAttrs implements [slog.Handler].
func (r *Router) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Router{r.Handler.WithAttrs(attrs), r.failures}
}

// WithGroup implements [slog.Handler].
func (r *Router) WithGroup(name string) slog.Handler {
	return &Router{r.Handler.WithGroup(name), r.failures}
}

func isAlert(_ context.Context, r slog.Record) bool {
	if r.Level >= slog.LevelWarn {
		return true
	}
	transition := false
	r.Attrs(func(a slog.Attr) bool {
		transition = isTransition(a)
		return !transition
	})
	return transition
}

// isTransition looks into groups: a handler derived by WithGroup has everything in one.
func isTransition(a slog.Attr) bool {
	if a.Value.Kind() == slog.KindGroup {
		for _, inner := range a.Value.Group() {
			if isTransition(inner) {
				return true
			}
		}
		return false
	}
	return a.Key == events.KeyEventName && a.Value.String() == events.BreakerStateChanged{}.EventName()
}

// guard keeps a panic in Enabled from the others; slog-multi guards Handle only.
type guard struct {
	slog.Handler
	failures *atomic.Uint64
}

func guarded(h slog.Handler, failures *atomic.Uint64) slog.Handler {
	count := func(context.Context, slog.Record, error) { failures.Add(1) }
	return guard{slogmulti.RecoverHandlerError(count)(h), failures}
}

// Enabled is false when the handler's own panics.
func (g guard) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() {
		if recover() != nil {
			g.failures.Add(1)
			enabled = false
		}
	}()
	return g.Handler.Enabled(ctx, level)
}

func (g guard) WithAttrs(attrs []slog.Attr) slog.Handler {
	return guard{g.Handler.WithAttrs(attrs), g.failures}
}

func (g guard) WithGroup(name string) slog.Handler {
	return guard{g.Handler.WithGroup(name), g.failures}
}
