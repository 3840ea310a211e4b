package httpres

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// statusClientClosed is what nginx logs when the client has left.
const statusClientClosed = 499

// statusFor returns the status for a request that was not served, or not in time.
func statusFor(err error) int {
	var canceled *resilience.CanceledError
	if errors.As(err, &canceled) {
		if canceled.Err == context.DeadlineExceeded {
			return http.StatusGatewayTimeout
		}
		return statusClientClosed
	}
	var limited *resilience.LimitedError
	if errors.As(err, &limited) && limited.Reason != events.ReasonRate {
		return http.StatusServiceUnavailable // it is not this client that sends too much
	}
	return resilience.KindOf(err).HTTPStatus()
}

// retryAfter returns the Retry-After header for a status, empty for none.
func (m *Middleware) retryAfter(status int, err error) string {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable || m.cfg.RetryAfter < 0 {
		return ""
	}
	after := m.cfg.RetryAfter
	var knows interface{ RetryAfter() time.Duration }
	if errors.As(err, &knows) && knows.RetryAfter() > 0 {
		after = knows.RetryAfter()
	}
	seconds := after / time.Second
	if after%time.Second > 0 {
		seconds++
	}
	return strconv.FormatInt(int64(seconds), 10)
}

// forget takes off what a handler said of an answer that it did not give, as http.Error does.
func forget(h http.Header) {
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Last-Modified"} {
		h.Del(name)
	}
}

// problem is a problem document of RFC 9457. Its type is about:blank, which means what its status means.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// respondProblem is MiddlewareConfig.Respond unless that is set.
func respondProblem(w http.ResponseWriter, r *http.Request, status int, _ error) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	body, err := json.Marshal(problem{"about:blank", titleOf(status), status, detailOf(status)})
	if err == nil {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body)
	}
}

func titleOf(status int) string {
	if status == statusClientClosed {
		return "Client Closed Request"
	}
	return http.StatusText(status)
}

func detailOf(status int) string {
	switch status {
	case http.StatusTooManyRequests:
		return "There were too many requests. Try again later."
	case http.StatusServiceUnavailable:
		return "The server cannot serve the request at present. Try again later."
	case http.StatusGatewayTimeout:
		return "The client's time ran out before the request was served."
	case statusClientClosed:
		return "The client left before the request was served."
	}
	return "The server failed to serve the request."
}
