package resilience

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// PIPE-17: who waits is told when nothing runs, and not before, also if the last seemed to have ended.
func TestWaitingForGoroutinesEndsWhenNoneRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(background)
		if b.wait(t.Context()) != nil {
			t.Error("nothing runs")
		}
		b.began()
		var waited atomic.Int32
		for range 3 {
			go func() {
				if b.wait(t.Context()) == nil {
					waited.Add(1)
				}
			}()
		}
		synctest.Wait()
		b.tell() // by one who was the last when another began
		synctest.Wait()
		if waited.Load() > 0 || b.count() != 1 {
			t.Errorf("%d are told although %d runs", waited.Load(), b.count())
		}
		b.ended()
		synctest.Wait()
		if waited.Load() != 3 || b.count() != 0 {
			t.Errorf("%d of 3 are told", waited.Load())
		}
		ctx, cancel := context.WithCancel(t.Context())
		b.began()
		cancel()
		if b.wait(ctx) != context.Canceled {
			t.Error("waited for ever")
		}
		b.ended()
	})
}
