package httpres

import (
	"math"
	"net/http"
	"testing"
	"time"
)

// HTTP-05, PITFALLS 16
func TestRetryAfterIsUnderstood(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		retryAfter, date string
		want             time.Duration
	}{
		{"", "", 0},
		{"0", "", 0},
		{"120", "", 2 * time.Minute},
		{" 7 ", "", 7 * time.Second},
		{"-5", "", 0},
		{"+5", "", 0},
		{"1.5", "", 0},
		{"1e3", "", 0},
		{"soon", "", 0},
		{"٣", "", 0},
		{"9223372036", "", 9223372036 * time.Second},
		{"9223372037", "", math.MaxInt64},
		{"99999999999999999999999999", "", math.MaxInt64},
		{in(time.Minute), "", time.Minute},
		{in(-time.Minute), "", 0},
		{in(time.Minute), in(-time.Hour), 61 * time.Minute}, // the server's clock is an hour behind
		{in(time.Minute), in(time.Hour), 0},
		{in(time.Minute), "yesterday", time.Minute},
		{"Monday, 30-Nov-26 12:00:30 GMT", "", 30 * time.Second},
		{"Mon Nov 30 12:00:30 2026", "", 30 * time.Second},
		{"Fri, 31 Dec 9999 23:59:59 GMT", "", math.MaxInt64},
		{"30", in(time.Hour), 30 * time.Second},
	} {
		h := http.Header{}
		if c.retryAfter != "" {
			h.Set("Retry-After", c.retryAfter)
		}
		if c.date != "" {
			h.Set("Date", c.date)
		}
		if got := retryAfter(h, now); got != c.want {
			t.Errorf("Retry-After %q, Date %q: %v, want %v", c.retryAfter, c.date, got, c.want)
		}
	}
}

// HTTP-05: whatever a server sends.
func FuzzRetryAfterIsNeverNegative(f *testing.F) {
	for _, seed := range []string{"5", "-5", "Mon, 30 Nov 2026 12:00:00 GMT", "99999999999999999999"} {
		f.Add(seed, "Mon, 30 Nov 2026 12:00:00 GMT")
	}
	f.Fuzz(func(t *testing.T, value, date string) {
		if d := retryAfter(http.Header{"Retry-After": {value}, "Date": {date}}, time.Unix(0, 0)); d < 0 {
			t.Errorf("Retry-After %q, Date %q: %v", value, date, d)
		}
	})
}
