package httpres

import (
	"context"
	"errors"
	"net/http"
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
			cancel(errRequestCanceled)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}
