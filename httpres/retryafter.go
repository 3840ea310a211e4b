package httpres

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter reads the Retry-After header of RFC 9110, section 10.2.3: whole seconds, or a date, which is taken
// relative to the response's own Date, since the two clocks may differ, and to now where there is none. What is past or
// not understood is 0; what exceeds the range of durations is the longest one.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if isDigits(value) {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(math.MaxInt64/time.Second) {
			return math.MaxInt64
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(at.Sub(now), 0)
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
