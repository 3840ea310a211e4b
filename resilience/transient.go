package resilience

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"reflect"
	"syscall"
)

// IsTransient tells whether a failed call is worth repeating, if the operation is idempotent: timeouts, refused or
// reset connections, a driver's bad connection (driver.ErrBadConn), an unexpected EOF, temporary DNS failures, the statuses
// 408, 429, 502, 503 and 504 (of errors with a method HTTPStatusCode or StatusCode() int), gRPC's UNAVAILABLE (of errors
// with gRPC's GRPCStatus method), refusals of our own, and errors that say so themselves (Transient() bool). The call may
// have had an effect all the same: for operations that must not run twice see [IsNotProcessed].
func IsTransient(err error) bool { return KindOf(err).Transient() }

// IsNotProcessed tells whether a failed call surely was not executed by the peer, so that even one that is not
// idempotent may be repeated: the connection could not be made (refused, DNS), HTTP/2's REFUSED_STREAM,
// driver.ErrBadConn, which drivers return only if the database cannot have done it, refusals of our own, and errors that
// say so themselves (NotProcessed() bool). An error that joins several was not processed if none of them was.
func IsNotProcessed(err error) bool {
	switch e := err.(type) {
	case nil, *PanicError:
		return false
	case *BreakerOpenError, *LimitedError:
		return true
	case *net.DNSError:
		return true
	case *net.OpError:
		return e.Op == "dial"
	case *CanceledError:
		return e.Last != nil && IsNotProcessed(e.Last)
	}
	if err == syscall.ECONNREFUSED || err == driver.ErrBadConn || isRefusedStream(err) {
		return true
	}
	switch e := err.(type) {
	case interface{ NotProcessed() bool }:
		return e.NotProcessed()
	case interface{ Unwrap() error }:
		return IsNotProcessed(e.Unwrap())
	case interface{ Unwrap() []error }:
		all := e.Unwrap()
		for _, inner := range all {
			if !IsNotProcessed(inner) {
				return false
			}
		}
		return len(all) > 0
	}
	return false
}

// knownTransient knows the failures of networks and servers.
func knownTransient(err error) bool {
	for _, target := range []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
		io.ErrUnexpectedEOF, driver.ErrBadConn} {
		if errors.Is(err, target) {
			return true
		}
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return dns.IsTemporary || dns.IsTimeout
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return true
	}
	switch statusOf(err) {
	case 408, 429, 502, 503, 504:
		return true
	}
	return anyIn(err, isRefusedStream) || anyIn(err, isGRPCUnavailable)
}

func statusOf(err error) int {
	var h interface{ HTTPStatusCode() int }
	if errors.As(err, &h) {
		return h.HTTPStatusCode()
	}
	var s interface{ StatusCode() int }
	if errors.As(err, &s) {
		return s.StatusCode()
	}
	return 0
}

// h2Error has the shape of HTTP/2's stream error. The one that net/http bundles converts itself to any struct of this shape
// (its As method): that is how it is meant to be recognised.
type h2Error struct {
	StreamID uint32
	Code     h2Code
	Cause    error
}

type h2Code uint32

const refusedStream h2Code = 0x7 // RFC 9113, section 7

func (e h2Error) Error() string { return "stream error" }

// isRefusedStream looks at err itself, not at what it wraps.
func isRefusedStream(err error) bool {
	var e h2Error
	as, ok := err.(interface{ As(any) bool })
	return ok && as.As(&e) && e.Code == refusedStream
}

// isTimeout tells whether a failure says that something took too long.
func isTimeout(err error) bool {
	e, ok := find[interface {
		error
		Timeout() bool
	}](err)
	return ok && e.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// isTurnedAway tells whether a failure says that a server has too much to do.
func isTurnedAway(err error) bool {
	status := statusOf(err)
	return status == 429 || status == 503 || anyIn(err, isGRPCUnavailable) || anyIn(err, isGRPCExhausted)
}

func isGRPCUnavailable(err error) bool { return grpcCode(err) == 14 } // codes.Unavailable

func isGRPCExhausted(err error) bool { return grpcCode(err) == 8 } // codes.ResourceExhausted

// grpcCode asks gRPC's status by its methods' names, since its types cannot be named here; 0 if there is none. It looks at
// err itself, not at what it wraps.
func grpcCode(err error) uint64 {
	m := reflect.ValueOf(err).MethodByName("GRPCStatus")
	if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 {
		return 0
	}
	status := m.Call(nil)[0]
	if k := status.Kind(); k == reflect.Pointer && status.IsNil() {
		return 0
	}
	code := status.MethodByName("Code")
	if !code.IsValid() || code.Type().NumIn() != 0 || code.Type().NumOut() != 1 || code.Type().Out(0).Kind() != reflect.Uint32 {
		return 0
	}
	return code.Call(nil)[0].Uint()
}
