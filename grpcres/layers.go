package grpcres

import (
	"context"

	"github.com/telltale-go/telltale/resilience"
)

// repeats tells whether a layer may run a call more than once: for all we know a layer of the user's that is no gate,
// too.
func repeats(l resilience.Layer) bool {
	switch l := l.(type) {
	case resilience.Retry:
		return l.MaxAttempts != 1
	case *resilience.Retry:
		return l != nil && l.MaxAttempts != 1
	case resilience.Timeout, *resilience.Timeout, resilience.Gate:
		return false
	}
	return true
}

// beside names a layer of ours that runs attempts beside each other, or after the call has returned; empty for others.
func beside(l resilience.Layer) string {
	switch l := l.(type) {
	case resilience.Hedge, *resilience.Hedge:
		return "a Hedge"
	case *resilience.Singleflight:
		return "a Singleflight"
	case resilience.Timeout:
		if l.Abandon {
			return "a Timeout that abandons"
		}
	case *resilience.Timeout:
		if l != nil && l.Abandon {
			return "a Timeout that abandons"
		}
	}
	return ""
}

// mayRunBeside tells whether attempts may run beside each other: with layers of the user's, too, for all we know.
func mayRunBeside(l resilience.Layer) bool {
	switch l.(type) {
	case resilience.Retry, *resilience.Retry, resilience.Gate:
		return false
	case resilience.Timeout, *resilience.Timeout:
		return beside(l) != ""
	}
	return true
}

// asking returns the layers with each Retry and Hedge asking whether the call can be sent again. A Retry is told by the
// failure already, but a layer in between may make it another one, as a Timeout does.
func asking(layers []resilience.Layer) []resilience.Layer {
	all := make([]resilience.Layer, len(layers))
	for i, l := range layers {
		switch l := l.(type) {
		case resilience.Retry:
			all[i] = askingRetry(l)
			continue
		case *resilience.Retry:
			if l != nil {
				all[i] = askingRetry(*l)
				continue
			}
		case resilience.Hedge:
			all[i] = askingHedge(l)
			continue
		case *resilience.Hedge:
			if l != nil {
				all[i] = askingHedge(*l)
				continue
			}
		}
		all[i] = l
	}
	return all
}

func askingRetry(r resilience.Retry) resilience.Retry {
	also := r.OnRetry
	r.OnRetry = func(ctx context.Context, failed resilience.FailedAttempt) bool {
		return mayRepeat(ctx) && (also == nil || also(ctx, failed))
	}
	return r
}

func askingHedge(h resilience.Hedge) resilience.Hedge {
	also := h.OnHedge
	h.OnHedge = func(ctx context.Context) bool {
		return mayRepeat(ctx) && (also == nil || also(ctx))
	}
	return h
}
