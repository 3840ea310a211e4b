package httpres

import (
	"context"

	"github.com/telltale-go/telltale/resilience"
)

// repeats tells whether a layer may send a request more than once: a Retry, a Hedge, and for all we know a layer of the
// user's that is no gate.
func repeats(l resilience.Layer) bool {
	switch l := l.(type) {
	case resilience.Retry:
		return l.MaxAttempts != 1
	case *resilience.Retry:
		return l != nil && l.MaxAttempts != 1
	case resilience.Hedge:
		return l.MaxAttempts != 1
	case *resilience.Hedge:
		return l != nil && l.MaxAttempts != 1
	case resilience.Timeout, *resilience.Timeout, resilience.Gate, Route, *Route, toBeMade:
		return false
	}
	return true
}

// asking returns the layers with each Retry and Hedge asking whether the request can be sent again. After a failure that
// is told by the failure already (see call.marked), but a layer in between may make it another one, such as a Timeout
// that a response came too late for.
func asking(layers []resilience.Layer) []resilience.Layer {
	all := make([]resilience.Layer, len(layers))
	for i, l := range layers {
		all[i] = l
		switch l := l.(type) {
		case resilience.Retry:
			all[i] = askingRetry(l)
		case *resilience.Retry:
			if l != nil {
				all[i] = askingRetry(*l)
			}
		case resilience.Hedge:
			all[i] = askingHedge(l)
		case *resilience.Hedge:
			if l != nil {
				all[i] = askingHedge(*l)
			}
		}
	}
	return all
}

func askingRetry(r resilience.Retry) resilience.Retry {
	also := r.OnRetry
	r.OnRetry = func(ctx context.Context, failed resilience.FailedAttempt) bool {
		if c := callOf(ctx); c != nil && !c.again() {
			return false
		}
		return also == nil || also(ctx, failed)
	}
	return r
}

func askingHedge(h resilience.Hedge) resilience.Hedge {
	also := h.OnHedge
	h.OnHedge = func(ctx context.Context) bool {
		if c := callOf(ctx); c != nil && !c.beside() {
			return false
		}
		return also == nil || also(ctx)
	}
	return h
}
