package resilience

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// Sentinels, to be matched with errors.Is.
var (
	// ErrBreakerOpen: a circuit breaker refused the call; see [BreakerOpenError].
	ErrBreakerOpen = errors.New("resilience: circuit breaker is open")
	// ErrLimited: a bulkhead, a rate limiter, or another limiter refused the call; see [LimitedError].
	ErrLimited = errors.New("resilience: limited")
	// ErrTimeout: a Timeout layer expired; see [TimeoutError].
	ErrTimeout = errors.New("resilience: timeout")
	// ErrClosed: the pipeline was closed.
	ErrClosed = errors.New("resilience: pipeline is closed")
	// ErrGoexit: an operation that ran on a goroutine of its pipeline's (for a Hedge, a Singleflight, a Timeout that
	// abandons) ended it with runtime.Goexit.
	ErrGoexit = errors.New("resilience: the operation called runtime.Goexit")
)

// errNotReturned stands for the error of an operation that panicked or ended its goroutine.
var errNotReturned error = notReturned{}

type notReturned struct{}

func (notReturned) Error() string     { return "resilience: the operation did not return" }
func (notReturned) ErrorType() string { return "not_returned" }

// TimeoutError tells that a Timeout layer's limit passed.
type TimeoutError struct {
	Layer string // the layer's name
	Limit time.Duration
	Err   error // the operation's own error; nil if it had none but its context's
}

func (e *TimeoutError) Error() string {
	s := fmt.Sprintf("resilience: %s: no result within %v", e.Layer, e.Limit)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is matches [ErrTimeout] and context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool {
	return target == ErrTimeout || target == context.DeadlineExceeded
}

// Unwrap returns the operation's own error.
func (e *TimeoutError) Unwrap() error { return e.Err }

// Timeout is true: it makes the error a net.Error's like.
func (e *TimeoutError) Timeout() bool { return true }

// ErrorType is the class for the telemetry attribute error.type.
func (e *TimeoutError) ErrorType() string { return "timeout" }

// CanceledError marks that the context of the caller ended, by cancellation or by its deadline, before there was a result.
type CanceledError struct {
	Err   error // the context's: context.Canceled or context.DeadlineExceeded
	Cause error // context.Cause of it; nil if that is Err itself
	Last  error // the last failure before that; nil if there was none
}

func canceled(ctx context.Context, last error) *CanceledError {
	e := &CanceledError{Err: ctx.Err()}
	if cause := context.Cause(ctx); !same(cause, e.Err) {
		e.Cause = cause
	}
	if prior, ok := last.(*CanceledError); ok {
		last = prior.Last
	}
	if !same(last, e.Err) && !same(last, e.Cause) {
		e.Last = withoutMarks(last)
	}
	return e
}

// same compares errors by identity; errors that cannot be compared are never the same.
func same(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

func (e *CanceledError) Error() string {
	s := "resilience: canceled by the caller: " + e.Err.Error()
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	if e.Last != nil {
		s += " (last failure: " + e.Last.Error() + ")"
	}
	return s
}

// Unwrap returns the context's error, its cause and the last failure, as far as there are any.
func (e *CanceledError) Unwrap() []error {
	all := []error{e.Err}
	for _, err := range []error{e.Cause, e.Last} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// ErrorType is the class for the telemetry attribute error.type.
func (e *CanceledError) ErrorType() string { return "canceled" }

// Timeout tells whether it was the caller's deadline: url.Error asks for it.
func (e *CanceledError) Timeout() bool { return e.Err == context.DeadlineExceeded }

// PanicError is a recovered panic: an error where PipelineConfig.RecoverPanics is set, else what is raised on the caller's
// goroutine for a panic on another one.
type PanicError struct {
	Value any    // what the operation panicked with
	Stack []byte // as runtime/debug.Stack formats it, of the goroutine that panicked
	// Raised puts the stack into the text. It is set where the error is raised as a panic, since the text is then all that
	// a crash shows of it: who raises a recovered one again sets it, too.
	Raised bool
}

func (e *PanicError) Error() string {
	s := fmt.Sprintf("resilience: panic: %v", e.Value)
	if e.Raised {
		s += "\n\n" + string(e.Stack)
	}
	return s
}

// Unwrap returns the value the operation panicked with, if it is an error.
func (e *PanicError) Unwrap() error {
	if e == nil { // it may be what an operation panicked with
		return nil
	}
	err, _ := e.Value.(error)
	return err
}

// ErrorType is the class for the telemetry attribute error.type.
func (e *PanicError) ErrorType() string { return "panic" }
