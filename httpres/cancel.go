package httpres

import (
	"context"
	"errors"
	"net/http"
	"time"
)

var errRequestCanceled = errors.New("httpres: Request.Cancel was closed")

// withCancel returns the request's context, which the deprecated Request.Cancel ends, too, if there is one: http.Client
// sets it for its Timeout. stop, nil without a Request.Cancel, ends the watch and the context.
func withCancel(req *http.Request) (ctx context.Context, stop func()) {
	//lint:ignore SA1019 deprecated, and still used by old callers
	end := req.Cancel
	if end == nil {
		return req.Context(), nil
	}
	return watched(req.Context(), end)
}

func watched(outside context.Context, end <-chan struct{}) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(outside)
	go func() {
		select {
		case <-end:
			if d, ok := outside.Deadline(); ok && !time.Now().Before(d) {
				awaitEnd(ctx)
			}
			cancel(errRequestCanceled)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// awaitEnd lets a deadline that has passed end the context: http.Client's Timeout ends both, and a breaker may count deadlines.
func awaitEnd(ctx context.Context) {
	timer := time.NewTimer(10 * time.Millisecond) // some contexts' deadlines end nothing
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
