package httpres

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// announce puts the time that is left until the context's deadline into a header.
func announce(ctx context.Context, h http.Header, name string) {
	h.Del(name) // one that the caller passes on says what was left elsewhere
	if deadline, ok := ctx.Deadline(); ok {
		h.Set(name, formatTimeout(time.Until(deadline)))
	}
}

// timeoutUnits are those of the grpc-timeout header, the smallest first: at most eight digits and a unit.
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
var timeoutUnits = []struct {
	sign byte
	unit time.Duration
}{{'n', time.Nanosecond}, {'u', time.Microsecond}, {'m', time.Millisecond}, {'S', time.Second}, {'M', time.Minute}, {'H', time.Hour}}

const maxTimeoutDigits = 8

// formatTimeout writes a duration as grpc-timeout does, in milliseconds as long as they fit, rounded up. What is over is 0m.
func formatTimeout(d time.Duration) string {
	d = max(d, 0)
	for _, u := range timeoutUnits[2:] {
		n := d / u.unit
		if d%u.unit > 0 {
			n++
		}
		if s := strconv.FormatInt(int64(n), 10); len(s) <= maxTimeoutDigits {
			return s + string(u.sign)
		}
	}
	return "99999999H"
}

// parseTimeout reads what formatTimeout writes, and a number without a unit as milliseconds, as Envoy writes it.
func parseTimeout(s string) (d time.Duration, ok bool) {
	if s == "" {
		return 0, false
	}
	digits, unit := s, time.Millisecond
	for _, u := range timeoutUnits {
		if s[len(s)-1] == u.sign {
			digits, unit = s[:len(s)-1], u.unit
		}
	}
	if len(digits) > maxTimeoutDigits || !isDigits(digits) {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, false
	}
	const longest = 1<<63 - 1
	if n > int64(longest/unit) {
		return longest, true
	}
	return time.Duration(n) * unit, true
}

// TimeoutFrom returns a MiddlewareConfig.Timeout that reads how long the client still waits from a header, as
// Config.TimeoutHeader writes it and gRPC's grpc-timeout does: up to eight digits and one of the units n, u, m (milliseconds), S, M
// (minutes) and H. Without a unit they are milliseconds, as in Envoy's x-envoy-expected-rq-timeout-ms. What is not
// understood counts as no limit.
func TimeoutFrom(header string) func(*http.Request) (time.Duration, bool) {
	return func(r *http.Request) (time.Duration, bool) {
		return parseTimeout(strings.TrimSpace(r.Header.Get(header)))
	}
}
