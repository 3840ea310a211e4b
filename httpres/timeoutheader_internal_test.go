package httpres

import (
	"math"
	"testing"
	"time"
)

// HTTP-10
func TestTimeoutHeader(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"10S": 10 * time.Second, "250m": 250 * time.Millisecond, "1n": 1, "7u": 7 * time.Microsecond, "2M": 2 * time.Minute, "1H": time.Hour,
		"0m": 0, "0": 0, "1500": 1500 * time.Millisecond, "99999999S": 99999999 * time.Second, "99999999H": math.MaxInt64,
	} {
		if d, ok := parseTimeout(s); !ok || d != want {
			t.Errorf("%q: %v, %v, want %v", s, d, ok, want)
		}
	}
	for _, s := range []string{"", "S", "m", "-1S", "+1S", "1.5S", "1 S", "123456789m", "1s", "1ms", "٣S", "0x1S", "S1"} {
		if d, ok := parseTimeout(s); ok {
			t.Errorf("%q: %v, want nothing", s, d)
		}
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "0m", 0: "0m", 1: "1m", time.Second: "1000m", 1500 * time.Microsecond: "2m", 99999999 * time.Millisecond: "99999999m",
		100000000 * time.Millisecond: "100000S", math.MaxInt64: "2562048H", 99999999*time.Second + 1: "1666667M",
	} {
		if got := formatTimeout(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
		if back, ok := parseTimeout(formatTimeout(d)); !ok || back < d {
			t.Errorf("%v comes back as %v, %v", d, back, ok)
		}
	}
}
