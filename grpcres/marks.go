package grpcres

import (
	"context"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/stop"
	"github.com/telltale-go/telltale/resilience"
)

// withoutMarks returns an error of the pipeline as the caller should get it: what the channel returned, and without the
// marks that were meant for this pipeline's own Retry and would end a Retry further out, which may make a new call.
func withoutMarks(err error) error {
	err, _ = unmark(err)
	return err
}

func unmark(err error) (plain error, changed bool) {
	switch e := err.(type) {
	case *stop.Error:
		if e.Reason == events.ReasonNotRetryable || e.Reason == events.ReasonNotReplayable {
			return withoutMarks(e.Err), true
		}
	case *failure:
		return e.err, true
	case *resilience.TimeoutError:
		if inner, changed := unmark(e.Err); changed {
			return &resilience.TimeoutError{Layer: e.Layer, Limit: e.Limit, Err: ownError(inner)}, true
		}
	case *resilience.CanceledError:
		if inner, changed := unmark(e.Last); changed {
			return &resilience.CanceledError{Err: e.Err, Cause: e.Cause, Last: inner}, true
		}
	}
	return err, false
}

// ownError returns nil for an error that only says that the context ended.
func ownError(err error) error {
	if err == context.DeadlineExceeded || err == context.Canceled {
		return nil
	}
	return err
}
