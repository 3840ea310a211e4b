package resilience_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"reflect"
	"syscall"
	"testing"

	"github.com/telltale-go/telltale/resilience"
)

// status is an error with an HTTP status, told by one of the two usual methods.
type (
	status     int
	statusCode int
)

func (s status) Error() string       { return fmt.Sprint("status ", int(s)) }
func (s status) HTTPStatusCode() int { return int(s) }
func (s statusCode) Error() string   { return fmt.Sprint("status ", int(s)) }
func (s statusCode) StatusCode() int { return int(s) }

// grpcError has the method of gRPC's errors, whose types cannot be imported here.
type (
	grpcError  struct{ status *grpcStatus }
	grpcStatus struct{ code grpcCode }
	grpcCode   uint32
)

func (e grpcError) Error() string           { return fmt.Sprint("rpc error ", e.status) }
func (e grpcError) GRPCStatus() *grpcStatus { return e.status }
func (s *grpcStatus) Code() grpcCode        { return s.code }

// streamError is as the stream error that net/http bundles: it converts itself to any struct of its shape.
type streamError struct {
	StreamID uint32
	Code     streamCode
	Cause    error
}

type streamCode uint32

func (e streamError) Error() string { return fmt.Sprint("stream error ", uint32(e.Code)) }

func (e streamError) As(target any) bool {
	dst, src := reflect.ValueOf(target).Elem(), reflect.ValueOf(e)
	if dst.Kind() != reflect.Struct || dst.NumField() != src.NumField() {
		return false
	}
	for i := range src.NumField() {
		if src.Type().Field(i).Name != dst.Type().Field(i).Name || !src.Field(i).Type().ConvertibleTo(dst.Field(i).Type()) {
			return false
		}
	}
	for i := range src.NumField() {
		dst.Field(i).Set(src.Field(i).Convert(dst.Field(i).Type()))
	}
	return true
}

// unprocessed says itself whether it was processed.
type unprocessed bool

func (u unprocessed) Error() string      { return "unprocessed" }
func (u unprocessed) NotProcessed() bool { return bool(u) }

const refusedStream, internalError streamCode = 7, 2 // RFC 9113, section 7

// PIPE-11, RET-04
func TestTransientAndNotProcessedFailures(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		err                     error
		transient, notProcessed bool
	}{
		{errBoom, false, false},
		{io.EOF, false, false},
		{io.ErrUnexpectedEOF, true, false},
		{context.Canceled, false, false},
		{context.DeadlineExceeded, true, false},
		{os.ErrDeadlineExceeded, true, false},
		{syscall.ECONNREFUSED, true, true},
		{syscall.ECONNRESET, true, false},
		{syscall.ECONNABORTED, true, false},
		{syscall.EPIPE, true, false},
		{syscall.ENOENT, false, false},
		{driver.ErrBadConn, true, true},
		{dial, true, true},
		{&url.Error{Op: "Get", Err: dial}, true, true},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, true, true},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, true, false},
		{&url.Error{Op: "Get", Err: context.DeadlineExceeded}, true, false},
		{&net.DNSError{IsTemporary: true}, true, true},
		{&net.DNSError{IsTimeout: true}, true, true},
		{&net.DNSError{IsNotFound: true}, false, true},
		{status(408), true, false}, {status(429), true, false}, {status(502), true, false}, {status(503), true, false}, {status(504), true, false},
		{status(500), false, false}, {status(404), false, false}, {statusCode(503), true, false}, {statusCode(501), false, false},
		{streamError{Code: refusedStream}, true, true},
		{streamError{Code: internalError}, false, false},
		{grpcError{&grpcStatus{14}}, true, false},
		{grpcError{&grpcStatus{13}}, false, false},
		{grpcError{}, false, false},
		{opinion(true), true, false},
		{opinion(false), false, false},
		{unprocessed(true), false, true},
		{unprocessed(false), false, false},
		{&resilience.TimeoutError{Err: unprocessed(true)}, true, true},
		{&resilience.BreakerOpenError{}, true, true},
		{&resilience.LimitedError{}, true, true},
		{&resilience.TimeoutError{}, true, false},
		{&resilience.TimeoutError{Err: dial}, true, true},
		{&resilience.PanicError{Value: dial}, false, false},
	} {
		for how, err := range map[string]error{
			"itself": c.err, "wrapped": fmt.Errorf("w: %w", c.err), "joined alone": errors.Join(c.err), "joined twice": errors.Join(c.err, c.err),
		} {
			if got := resilience.IsTransient(err); got != c.transient {
				t.Errorf("IsTransient is %t of %T %v, %s", got, c.err, c.err, how)
			}
			if got := resilience.IsNotProcessed(err); got != c.notProcessed {
				t.Errorf("IsNotProcessed is %t of %T %v, %s", got, c.err, c.err, how)
			}
		}
	}
	if resilience.IsTransient(nil) || resilience.IsNotProcessed(nil) {
		t.Error("no error is no failure")
	}
}

// RET-04: what joins several failures was not processed only if none of them was.
func TestAJoinWasProcessedIfAnyPartWas(t *testing.T) {
	for _, not := range []error{syscall.ECONNREFUSED, &net.DNSError{}, streamError{Code: refusedStream}, &resilience.LimitedError{}} {
		for _, processed := range []error{errBoom, syscall.ECONNRESET, status(503), streamError{Code: internalError}} {
			for _, err := range []error{errors.Join(not, processed), errors.Join(processed, not), fmt.Errorf("%w, %w", not, processed)} {
				if resilience.IsNotProcessed(err) {
					t.Errorf("not processed: %v", err)
				}
			}
		}
		if !resilience.IsNotProcessed(errors.Join(not, syscall.ECONNREFUSED)) {
			t.Errorf("processed: %v", not)
		}
		if !resilience.IsNotProcessed(&resilience.CanceledError{Err: context.Canceled, Last: not}) {
			t.Errorf("processed, then cancelled: %v", not)
		}
	}
	if resilience.IsNotProcessed(&resilience.CanceledError{Err: context.Canceled}) {
		t.Error("a call that was cancelled on its way may have been processed")
	}
}

// PIPE-11: joins are searched for the failures of networks and servers, too.
func TestATransientPartMakesAJoinTransient(t *testing.T) {
	for _, err := range []error{grpcError{&grpcStatus{14}}, streamError{Code: refusedStream}, status(503), syscall.EPIPE, &net.DNSError{IsTimeout: true}} {
		if !resilience.IsTransient(errors.Join(errBoom, fmt.Errorf("w: %w", err))) {
			t.Errorf("not transient, joined with another: %v", err)
		}
	}
}
