package httpres

import (
	"context"

	"github.com/telltale-go/telltale/resilience"
)

// repeats tells whether a layer may send a request more than once: a Retry, and for all we know a layer of the user's
// that is no gate.
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

// asking returns the layers with each Retry asking whether the request can be sent again. That is told by the failure
// already (see call.failed), but a layer in between may make it another one, such as a Timeout that a response came too
// late for.
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
		}
		all[i] = l
	}
	return all
}

func askingRetry(r resilience.Retry) resilience.Retry {
	also := r.OnRetry
	r.OnRetry = func(ctx context.Context, failed resilience.FailedAttempt) bool {
		if c, ok := ctx.Value(callKey{}).(*call); ok && c.cannotRepeat() != 0 {
			return false
		}
		return also == nil || also(ctx, failed)
	}
	return r
}
