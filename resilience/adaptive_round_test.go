package resilience

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
)

// lease acquires of a limiter that is not full.
func lease(t *testing.T, a *AdaptiveLimiter) *Lease {
	t.Helper()
	l, err := a.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// oneByOne makes calls that do not meet.
func oneByOne(t *testing.T, a *AdaptiveLimiter, calls int) {
	t.Helper()
	for range calls {
		l := lease(t, a)
		time.Sleep(2 * time.Millisecond)
		l.Release(nil)
	}
}

// LIM-08: a round in which a call found the limit reached is one in use, also if those that it measured never met.
func TestAdaptiveLimiterGrowsForThoseWhomItRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := MustAdaptiveLimiter(AdaptiveLimiterConfig{Name: "a", Initial: 60, Bus: events.Off()})
		for range 2 { // the first round tells nothing
			oneByOne(t, a, 59)
			leases := []*Lease{lease(t, a)}
			for len(leases) < 60 { // not measured
				leases = append(leases, lease(t, a))
			}
			if _, err := a.Acquire(t.Context()); err == nil {
				t.Fatal("61 at once")
			}
			for _, l := range leases {
				l.Release(nil)
			}
		}
		if s := a.Snapshot(); s.Limit == 60 || s.Usage != 0 { // it probes, then grows
			t.Errorf("after a refusal: %+v", s)
		}
	})
}

// LIM-08: who is refused ends a round whose last calls hang, since nobody else comes.
func TestAdaptiveLimiterEndsARoundWhileAllHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := MustAdaptiveLimiter(AdaptiveLimiterConfig{Name: "a", Initial: 2, Bus: events.Off()})
		oneByOne(t, a, 26)
		for range 2 {
			defer lease(t, a).Release(nil)
		}
		number := a.machine.round.number
		for _, ended := range []int64{0, 1} {
			if _, err := a.Acquire(t.Context()); err == nil || a.machine.round.number != number+ended {
				t.Errorf("%v, round %d after %d", err, a.machine.round.number, number)
			}
			time.Sleep(2 * time.Second)
		}
	})
}
