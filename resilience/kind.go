package resilience

import (
	"context"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/stop"
)

// Kind says in one word what an error means at the boundary of a service.
type Kind uint8

const (
	// KindOK: no error.
	KindOK Kind = 1 + iota
	// KindCanceled: the caller's own context ended; nobody waits for the answer.
	KindCanceled
	// KindLimited: a limiter refused; worth repeating later.
	KindLimited
	// KindUnavailable: the dependency does not answer as it should at present; worth repeating later.
	KindUnavailable
	// KindUnhandled: everything else, panics included.
	KindUnhandled
)

var kindNames = [...]string{"Kind(0)", "ok", "canceled", "limited", "unavailable", "unhandled"}

// String returns the kind's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind(invalid)"
}

// Transient tells whether the same call may succeed later.
func (k Kind) Transient() bool { return k == KindLimited || k == KindUnavailable }

// HTTPStatus returns the status a server would answer with: 200, 499 (the client closed the request), 429, 503, 500.
func (k Kind) HTTPStatus() int {
	switch k {
	case KindOK:
		return 200
	case KindCanceled:
		return 499
	case KindLimited:
		return 429
	case KindUnavailable:
		return 503
	}
	return 500
}

// KindOf says what an error means. The first error in its tree, in pre-order, that knows decides: those of this
// package, and any with a method Transient() bool. [ErrClosed] is KindUnavailable: the process is about to end, another
// one answers. A context.DeadlineExceeded that no pipeline marked as the caller's is the dependency's: KindUnavailable;
// an unmarked context.Canceled is KindUnhandled. Of the rest, what [IsTransient] lists is KindUnavailable.
func KindOf(err error) Kind {
	if err == nil {
		return KindOK
	}
	if k := kindIn(err); k != 0 {
		return k
	}
	if knownTransient(err) {
		return KindUnavailable
	}
	return KindUnhandled
}

// kindIn returns the kind of the first error in the tree that knows; 0 if none does.
func kindIn(err error) Kind {
	if k := ownKind(err); k != 0 {
		return k
	}
	switch e := err.(type) {
	case *unmarked:
		for _, above := range e.above {
			if k := ownKind(above); k != 0 {
				return k
			}
		}
		return firstKind(e.below)
	case interface{ Unwrap() error }:
		return kindIn(e.Unwrap())
	case interface{ Unwrap() []error }:
		return firstKind(e.Unwrap())
	}
	return 0
}

func firstKind(all []error) Kind {
	for _, err := range all {
		if k := kindIn(err); k != 0 {
			return k
		}
	}
	return 0
}

// ownKind returns what an error itself knows; 0 if it does not.
func ownKind(err error) Kind {
	switch e := err.(type) {
	case *CanceledError:
		return KindCanceled
	case *BreakerOpenError, *TimeoutError:
		return KindUnavailable
	case *LimitedError:
		return KindLimited
	case *PanicError:
		return KindUnhandled
	case *stop.Error:
		if e.Reason != events.ReasonPermanent {
			return 0 // this call cannot be repeated; a later one may succeed
		}
		return KindUnhandled
	case interface{ Transient() bool }:
		if e.Transient() {
			return KindUnavailable
		}
		return KindUnhandled
	}
	switch err {
	case context.DeadlineExceeded, ErrBreakerOpen, ErrTimeout, ErrClosed:
		return KindUnavailable
	case ErrLimited:
		return KindLimited
	}
	return 0
}
