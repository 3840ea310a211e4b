// Package unmark takes the marks of one pipeline off an error that leaves it. The clients of HTTP and gRPC share it.
package unmark

import (
	"context"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/stop"
	"github.com/telltale-go/telltale/resilience"
)

// Error returns an error of a pipeline as the caller should get it: what the client below returned, and without the
// marks that were meant for this pipeline's own Retry and would end a Retry further out, which may make a new call. own
// finds what the client below returned in the client's own mark; false for every other error.
func Error(err error, own func(error) (below error, ok bool)) error {
	err, _ = unmarked(err, own)
	return err
}

func unmarked(err error, own func(error) (error, bool)) (plain error, changed bool) {
	if below, ok := own(err); ok {
		return below, true
	}
	switch e := err.(type) {
	case *stop.Error:
		if e.Reason == events.ReasonNotRetryable || e.Reason == events.ReasonNotReplayable {
			return Error(e.Err, own), true
		}
	case *resilience.TimeoutError:
		if inner, changed := unmarked(e.Err, own); changed {
			return &resilience.TimeoutError{Layer: e.Layer, Limit: e.Limit, Err: unlessContexts(inner)}, true
		}
	case *resilience.CanceledError:
		if inner, changed := unmarked(e.Last, own); changed {
			return &resilience.CanceledError{Err: e.Err, Cause: e.Cause, Last: inner}, true
		}
	}
	return err, false
}

// unlessContexts returns nil for an error that only says that the context ended.
func unlessContexts(err error) error {
	if err == context.DeadlineExceeded || err == context.Canceled {
		return nil
	}
	return err
}
