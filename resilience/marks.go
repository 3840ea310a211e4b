package resilience

import (
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/stop"
)

// Permanent marks an operation's error as one that no further attempt can mend: every enclosing Retry ends with it. The
// text stays err's, errors.Is and errors.As find err, and breakers count it as any failure. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &stop.Error{Err: err, Reason: events.ReasonPermanent}
}

// RetryAfter adds to an operation's error when the peer wants to be asked again; a Retry waits at least that long, up
// to its MaxDelay. d <= 0 adds nothing. Any error with a method RetryAfter() time.Duration is heard alike.
// RetryAfter(nil, d) is nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil || d <= 0 {
		return err
	}
	return &hinted{err, d}
}

type hinted struct {
	err   error
	after time.Duration
}

func (e *hinted) Error() string             { return e.err.Error() }
func (e *hinted) Unwrap() error             { return e.err }
func (e *hinted) RetryAfter() time.Duration { return e.after }

// stopIn returns why the failure ends every enclosing retry; 0 if it does not.
func stopIn(err error) events.Reason {
	if s, ok := find[*stop.Error](err); ok {
		return s.Reason
	}
	return 0
}
