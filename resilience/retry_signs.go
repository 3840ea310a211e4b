package resilience

import (
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/stop"
)

// signs are what a failure's tree tells a Retry, found in one walk: of each kind the first in pre-order.
type signs struct {
	final   events.Reason                           // why the failure ends every enclosing retry; 0 if it does not
	hint    interface{ RetryAfter() time.Duration } // how long the peer asks to wait
	refusal interface{ refusal() refusal }          // as refusalIn finds it
}

func signsOf(failure error) signs {
	switch failure.(type) {
	case interface{ Unwrap() error }, interface{ Unwrap() []error }, interface{ RetryAfter() time.Duration }:
		var s signs
		s.look(failure, true)
		return s
	}
	if failure == ErrGoexit {
		return signs{final: events.ReasonNotRetryable}
	}
	return signs{} // all errors of ours that tell something wrap another, or may
}

// look walks along err. single tells whether single wrapping alone has led to it, see refusalIn.
func (s *signs) look(err error, single bool) {
	for err != nil {
		s.add(err, single)
		switch w := err.(type) {
		case interface{ Unwrap() error }:
			err = w.Unwrap()
		case *refusedRetry:
			s.look(w.refusal, single)
			err, single = w.last, false
		case *unmarked:
			for _, above := range w.above {
				s.add(above, false)
			}
			s.lookAt(w.below)
			return
		case interface{ Unwrap() []error }:
			s.lookAt(w.Unwrap())
			return
		default:
			return
		}
	}
}

func (s *signs) lookAt(joined []error) {
	for _, err := range joined {
		s.look(err, false)
	}
}

// add notes what one error of the tree tells.
func (s *signs) add(err error, single bool) {
	switch e := err.(type) {
	case *PanicError:
		s.final = events.ReasonNotRetryable
	case *stop.Error:
		s.final = or(s.final, e.Reason)
	case *BreakerOpenError:
		s.refuse(e, single)
	case *LimitedError:
		s.refuse(e, single)
	}
	if err == ErrGoexit {
		s.final = events.ReasonNotRetryable
	}
	if s.hint == nil {
		s.hint, _ = err.(interface{ RetryAfter() time.Duration })
	}
}

func (s *signs) refuse(by interface{ refusal() refusal }, single bool) {
	if single && s.refusal == nil {
		s.refusal = by
	}
}
