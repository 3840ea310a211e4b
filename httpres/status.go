package httpres

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// StatusError is how layers and events see a response with one of the Config.FailureStatuses. The caller of the
// transport gets the response itself.
type StatusError struct {
	code  int
	after time.Duration
}

func newStatusError(resp *http.Response) *StatusError {
	return &StatusError{code: resp.StatusCode, after: retryAfter(resp.Header, time.Now())}
}

// StatusCode returns the response's status.
func (e *StatusError) StatusCode() int { return e.code }

// RetryAfter returns how long the server asks to wait, 0 if it does not: its Retry-After header.
func (e *StatusError) RetryAfter() time.Duration { return e.after }

// Transient is true: which statuses may be otherwise the next time is what Config.FailureStatuses says.
func (e *StatusError) Transient() bool { return true }

// ErrorType is the status: the class for the telemetry attribute error.type.
func (e *StatusError) ErrorType() string { return strconv.Itoa(e.code) }

func (e *StatusError) Error() string {
	if text := http.StatusText(e.code); text != "" {
		return fmt.Sprintf("httpres: status %d %s", e.code, text)
	}
	return fmt.Sprintf("httpres: status %d", e.code)
}
