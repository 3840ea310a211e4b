package resilience_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// chain checks that transitions follow from each other: the state is the one before's, the number grows by one. Where
// some were dropped there is a gap, which it counts.
type chain struct {
	t     *testing.T
	told  uint64
	state events.State
	gaps  uint64
}

func (c *chain) add(e events.BreakerStateChanged) {
	if e.Seq <= c.told || e.From == e.To || e.Seq == c.told+1 && e.From != c.state {
		c.t.Errorf("%d %v->%v after %d %v", e.Seq, e.From, e.To, c.told, c.state)
	}
	c.gaps += e.Seq - c.told - 1
	c.told, c.state = e.Seq, e.To
}

// storm lets 64 goroutines call and command a breaker; each does what op says. It returns when all is told.
func storm(b *resilience.Breaker, rounds int, op func(i, n int) func(context.Context) error) {
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for n := range rounds {
				switch (i*7 + n) % 50 {
				case 0:
					b.Reset()
				case 1:
					b.ForceOpen()
				case 2:
					lease, err := b.Acquire(context.Background())
					if err == nil {
						runtime.Gosched()
						lease.Release(errBoom)
						lease.Release(nil)
					}
				default:
					_ = b.Run(context.Background(), op(i, n))
				}
			}
		})
	}
	wg.Wait()
}

// BRK-13: once, in order, under 64 goroutines and a slow handler.
func TestTransitionsFollowFromEachOtherUnderContention(t *testing.T) {
	for _, rounds := range []int{3, 300} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 2, Cooldown: 1, Bus: bus})
			told := chain{t: t, state: events.StateClosed}
			var running atomic.Int64
			bus.BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) {
				if running.Add(1) > 1 {
					t.Error("two transitions are being told at once")
				}
				time.Sleep(time.Microsecond) // the others go on meanwhile
				told.add(e)
				running.Add(-1)
			})
			storm(b, rounds, func(i, n int) func(context.Context) error {
				time.Sleep(time.Microsecond)
				if (i+n)%3 != 0 {
					return fail
				}
				return succeed
			})
			time.Sleep(time.Second)
			whole(t, bus, b, &told)
		})
	}
}

// BRK-13, BUS-03: a handler that hangs delays one call; what waits is bounded, the rest is counted and shows as a gap.
func TestHandlerThatHangsDelaysOneCallAndDropsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		b := breaker(resilience.BreakerConfig{Bus: bus})
		told := chain{t: t, state: events.StateClosed}
		release := make(chan struct{})
		bus.BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) { <-release; told.add(e) })
		go b.ForceOpen() // this one is delayed
		synctest.Wait()
		for range 500 {
			b.Reset()
			b.ForceOpen()
		}
		if dropped, waiting := bus.Dropped(), uint64(256); dropped != 1000-waiting {
			t.Errorf("%d of 1000 were dropped, want all but %d", dropped, waiting)
		}
		close(release)
		synctest.Wait()
		b.Reset()
		if told.told != 1002 || told.gaps != bus.Dropped() {
			t.Errorf("told up to %d with gaps of %d", told.told, told.gaps)
		}
	})
}

// whole checks that all was told but what was dropped.
func whole(t *testing.T, bus *events.Bus, b *resilience.Breaker, told *chain) {
	t.Helper()
	if s := b.Snapshot(); told.gaps+s.Seq-told.told != bus.Dropped() || told.told < 3 {
		t.Errorf("told up to %d of %d, gaps of %d, %d dropped", told.told, s.Seq, told.gaps, bus.Dropped())
	}
}

// BRK-13, BRK-14: the same with handlers that use the breaker.
func TestTransitionsKeepTheirOrderWhileHandlersCallIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 1, Cooldown: 1, Bus: bus,
			CooldownFunc: func(n int) time.Duration { return time.Duration(min(n, 3)) }})
		told := chain{t: t, state: events.StateClosed}
		bus.BreakerStateChanged.Subscribe(func(ctx context.Context, e events.BreakerStateChanged) {
			told.add(e)
			if s := b.Snapshot(); s.Seq < e.Seq {
				t.Errorf("told %d of %d", e.Seq, s.Seq)
			}
			if e.Seq%5 == 0 {
				_ = b.Run(ctx, fail)
			}
		})
		storm(b, 200, func(i, n int) func(context.Context) error {
			runtime.Gosched()
			if (i+n)%2 == 0 {
				return fail
			}
			return succeed
		})
		synctest.Wait()
		whole(t, bus, b, &told)
	})
}
