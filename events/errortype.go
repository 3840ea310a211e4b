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
// the first it wraps, says of itself (ErrorType() string); an HTTP status (HTTPStatusCode() or StatusCode() int, from 400 on); a known
// class (timeout, canceled, connection_refused, connection_reset, dns, eof); the innermost error's Go type. Errors
// made by errors.New and fmt.Errorf have no class: _OTHER. It never returns an error's text.
func ErrorType(err error) string {
	if err == nil {
		return ""
	}
	var typed interface{ ErrorType() string }
	if errors.As(err, &typed) {
		if t := typed.ErrorType(); t != "" {
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

func networkClass(err error) string {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &dns):
		return "dns"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection_refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection_reset"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "eof"
	}
	return ""
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
