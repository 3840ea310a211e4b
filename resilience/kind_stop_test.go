package resilience

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/stop"
)

// PIPE-11, BRK-19: that a request cannot be repeated says nothing of what is wrong with its dependency.
func TestKindOfWhatCannotBeRepeatedIsTheFailures(t *testing.T) {
	for _, reason := range []events.Reason{events.ReasonNotReplayable, events.ReasonNotRetryable} {
		err := &stop.Error{Err: context.DeadlineExceeded, Reason: reason}
		if k := KindOf(err); k != KindUnavailable {
			t.Errorf("%v: the kind is %v, want unavailable", reason, k)
		}
		if k := KindOf(&stop.Error{Err: errors.New("unknown"), Reason: reason}); k != KindUnhandled {
			t.Errorf("%v: the kind of an unknown error is %v, want unhandled", reason, k)
		}
	}
	if k := KindOf(Permanent(context.DeadlineExceeded)); k != KindUnhandled {
		t.Errorf("the kind of a permanent error is %v, want unhandled", k)
	}
}

// PIPE-16, HTTP-09: a deadline of the caller's is a timeout for who asks as net/http does.
func TestCanceledByDeadlineIsATimeout(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), origin)
	defer cancel()
	_, err := Do(ctx, func(context.Context) (int, error) { return 1, nil })
	if !(&url.Error{Err: err}).Timeout() {
		t.Errorf("%v is no timeout", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err = Do(ctx, func(context.Context) (int, error) { return 1, nil })
	if (&url.Error{Err: err}).Timeout() {
		t.Errorf("%v is a timeout", err)
	}
}
