package events

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// OtherErrorType is the class of errors that have no better one, and of those beyond a bound (see [ErrorTypes]).
const OtherErrorType = "_OTHER"

// ErrorType returns the class of an error for the attribute error.type, "" for nil. In this order: what the error, or
// the first it wraps, says of itself (ErrorType() string); an HTTP status (HTTPStatusCode() or StatusCode() int, 400 to
// 599); a known class (dns, connection_refused, connection_reset, canceled, timeout, eof); the innermost error's Go type.
// Errors made by errors.New, errors.Join and fmt.Errorf have no class: _OTHER. It never returns an error's text.
func ErrorType(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[interface {
		error
		ErrorType() string
	}](err); ok {
		if t := e.ErrorType(); t != "" {
			return t
		}
	}
	if code := httpStatus(err); code >= 400 && code <= 599 {
		return strconv.Itoa(code)
	}
	if class := networkClass(err); class != "" {
		return class
	}
	return innermostType(err)
}

func httpStatus(err error) int {
	if e, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); ok {
		return e.HTTPStatusCode()
	}
	if e, ok := errors.AsType[interface {
		error
		StatusCode() int
	}](err); ok {
		return e.StatusCode()
	}
	return 0
}

func networkClass(err error) string {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "dns"
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection_refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection_reset"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), timedOut(err):
		return "timeout"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "eof"
	}
	return ""
}

func timedOut(err error) bool {
	e, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && e.Timeout()
}

var (
	plainError  = reflect.TypeOf(errors.New(""))
	wrapError   = reflect.TypeOf(fmt.Errorf("%w", io.EOF))
	wrapErrors  = reflect.TypeOf(fmt.Errorf("%w %w", io.EOF, io.EOF))
	joinedError = reflect.TypeOf(errors.Join(io.EOF))
)

func innermostType(err error) string {
	for {
		switch w := err.(type) {
		case interface{ Unwrap() error }:
			if inner := w.Unwrap(); inner != nil {
				err = inner
				continue
			}
		case interface{ Unwrap() []error }:
			if all := w.Unwrap(); len(all) > 0 && all[0] != nil {
				err = all[0]
				continue
			}
		}
		break
	}
	t := reflect.TypeOf(err)
	switch t {
	case plainError, wrapError, wrapErrors, joinedError:
		return OtherErrorType
	}
	return strings.TrimPrefix(t.String(), "*")
}

// maxErrorTypes is how many classes a pipeline may have before the rest becomes _OTHER.
const maxErrorTypes = 10

// ErrorTypes bounds the classes that one pipeline shows, so that error types cannot multiply its metric series: the
// first ten that turn up, and _OTHER for the rest. The zero value is ready; it is safe for concurrent use.
type ErrorTypes struct {
	seen atomic.Pointer[map[string]struct{}] // replaced as a whole, under mu
	mu   sync.Mutex
}

// Of is [ErrorType] within the bound.
func (t *ErrorTypes) Of(err error) string {
	class := ErrorType(err)
	if class == "" || class == OtherErrorType {
		return class
	}
	if t.has(class) {
		return class
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has(class) {
		return class
	}
	grown := map[string]struct{}{class: {}}
	if m := t.seen.Load(); m != nil {
		if len(*m) >= maxErrorTypes {
			return OtherErrorType
		}
		for k := range *m {
			grown[k] = struct{}{}
		}
	}
	t.seen.Store(&grown)
	return class
}

func (t *ErrorTypes) has(class string) bool {
	m := t.seen.Load()
	if m == nil {
		return false
	}
	_, ok := (*m)[class]
	return ok
}
