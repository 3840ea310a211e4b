package resilience

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// BRK-16: time is measured with the monotonic clock. A Time shows whether it has a reading of it.
func TestClockIsMonotonic(t *testing.T) {
	if !strings.Contains(origin.String(), " m=") {
		t.Errorf("the origin, %v, is the wall clock's alone: a step of it would change what has passed", origin)
	}
}

// PIPE-26: in a bubble it is the bubble's time that passes, and readings are negative.
func TestClockRunsInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := now()
		time.Sleep(time.Hour)
		if passed := now() - began; passed != int64(time.Hour) || began >= 0 {
			t.Errorf("%v passed from %d on", time.Duration(passed), began)
		}
	})
}
