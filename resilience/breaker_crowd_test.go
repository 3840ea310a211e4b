package resilience

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
)

// BRK-11, BRK-14, BRK-18: thousands of goroutines that call, fail, command and read at once, with the real clock, leave a
// breaker that counts as a new one does: nobody is under way any more, and nothing is counted that was not.
func TestACrowdThatCommandsLeavesABreakerThatCounts(t *testing.T) {
	const crowd, each = 2000, 10
	boom := errors.New("boom")
	for _, cfg := range []BreakerConfig{
		{ConsecutiveFailures: 3, Cooldown: time.Microsecond}, {FailureRatio: 0.3, WindowCalls: 5000, Probes: 4, Cooldown: time.Microsecond},
		{FailureRatio: 0.3, MinCalls: 5, Window: time.Hour, Cooldown: time.Microsecond, Shadow: true},
		{SlowCall: 50 * time.Microsecond, SlowRatio: 0.9, FailureRatio: 0.5, Window: time.Hour, Cooldown: time.Microsecond, MaxProbeTime: time.Microsecond},
	} {
		bus := events.NewBus()
		cfg.Name, cfg.Bus = "db", bus
		b := MustBreaker(cfg)
		var inside atomic.Int64 // handlers
		var enough atomic.Bool
		bus.BreakerStateChanged.Subscribe(func(ctx context.Context, e events.BreakerStateChanged) {
			inside.Add(1)
			defer inside.Add(-1)
			if e.Seq%16 == 0 && !enough.Load() {
				_ = b.Run(events.Nest(ctx), func(context.Context) error { return boom })
				b.Reset()
			}
		})
		var all sync.WaitGroup
		for i := range crowd {
			all.Go(func() {
				random := rand.New(rand.NewPCG(11, uint64(i)))
				for range each {
					switch n := random.IntN(100); {
					case n < 4:
						[]func(){b.Reset, b.ForceOpen, b.Disable, b.Enable}[n]()
					case n < 10:
						b.Reset()
					case n < 15:
						if s := b.Snapshot(); s.Failures > s.Calls || s.SlowCalls > s.Calls || s.Calls > crowd*(each+1) {
							t.Errorf("read %+v", s)
						}
					case n < 50:
						_ = b.Run(context.Background(), func(context.Context) error { return boom })
					default:
						_ = b.Run(context.Background(), func(context.Context) error { return nil })
					}
				}
			})
		}
		all.Wait()
		for enough.Store(true); inside.Load() > 0; {
			runtime.Gosched()
		}
		b.Reset()
		b.mu.Lock()
		if f := b.machine.underWay; f != nil && (f.hung != 0 || f.young != [underWaySlots]uint32{}) {
			t.Errorf("%s: left under way %+v", b.machine.rules, f)
		}
		b.mu.Unlock()
		for range 7 {
			all.Go(func() { _ = b.Run(context.Background(), func(context.Context) error { return nil }) })
		}
		all.Wait()
		if s := b.Snapshot(); s.State != events.StateClosed || s.Failures != 0 || b.machine.rules.consecutive == 0 && s.Calls != 7 {
			t.Errorf("%s: after seven successes %+v", b.machine.rules, s)
		}
	}
}
