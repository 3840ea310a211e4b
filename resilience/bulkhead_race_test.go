package resilience_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// LIM-03: the release, the waiter's cancellation and its time limit at one instant, thousands of times.
func TestNoPermitIsLostWhenReleaseRacesWithLeaving(t *testing.T) {
	var admitted, left, late atomic.Int64
	for _, c := range []struct {
		name           string
		cancels, limit bool
	}{{"cancellation", true, false}, {"time limit", false, true}, {"both", true, true}} {
		synctest.Test(t, func(t *testing.T) {
			wait := time.Duration(0)
			if c.limit {
				wait = time.Millisecond
			}
			b := bulkhead(1, 4, wait)
			for range 1500 {
				holder, err := b.Acquire(t.Context())
				if err != nil {
					t.Fatalf("%s: the permit is lost: %v, %+v", c.name, err, b.Snapshot())
				}
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() {
						switch err := b.Run(ctx, succeed); {
						case err == nil:
							admitted.Add(1)
						case errors.Is(err, context.Canceled):
							left.Add(1)
						case errors.Is(err, resilience.ErrLimited):
							late.Add(1)
						default:
							t.Error(err)
						}
					})
				}
				synctest.Wait()
				wg.Go(func() { time.Sleep(time.Millisecond); holder.Release(nil) })
				if c.cancels {
					wg.Go(func() { time.Sleep(time.Millisecond); cancel() })
				}
				wg.Wait()
				cancel()
				if s := b.Snapshot(); s.Usage != 0 || s.Queued != 0 {
					t.Fatalf("%s: left behind: %+v", c.name, s)
				}
			}
			room(t, b)
		})
	}
	if admitted.Load() == 0 || left.Load() == 0 || late.Load() == 0 {
		t.Errorf("not all of it happened: %d admitted, %d left, %d were late", admitted.Load(), left.Load(), late.Load())
	}
}

// LIM-03: eight waiters who have left do not get what is released after.
func TestPermitIsNotHandedToAWaiterWhoHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulkhead(8, 8, time.Second)
		var holders []*resilience.Lease
		for range 8 {
			lease, err := b.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			holders = append(holders, lease)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := b.Run(t.Context(), succeed); !errors.Is(err, resilience.ErrLimited) {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
		for _, h := range holders {
			h.Release(nil)
			h.Release(nil) // mints none
		}
		room(t, b)
	})
}

// LIM-01, LIM-03: a storm of callers who come and go keeps the limit, and leaves nothing behind.
func TestStormOfCallersKeepsTheLimit(t *testing.T) {
	b := bulkhead(3, 10, 50*time.Microsecond)
	var running atomic.Int64
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for n := range 300 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration((i*n)%100)*time.Microsecond)
				_ = b.Run(ctx, func(context.Context) error {
					if now := running.Add(1); now > 3 {
						t.Errorf("%d at once", now)
					}
					running.Add(-1)
					return nil
				})
				cancel()
			}
		})
	}
	wg.Wait()
	room(t, b)
}
