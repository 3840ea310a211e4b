package resilience_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-04
func TestConcurrentCallsShareStateAndNothingElse(t *testing.T) {
	const calls = 64
	for _, bus := range []*events.Bus{events.Off(), events.NewBus()} {
		tape := record(bus)
		db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureRatio: 1, MinCalls: 1 << 20, Bus: bus})
		room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: calls, Bus: bus})
		p := ints(bus, room, resilience.Timeout{After: time.Hour}, resilience.Retry{MaxAttempts: 4, Backoff: resilience.NoDelay}, db, resilience.Timeout{})
		var all sync.WaitGroup
		for i := range calls {
			all.Go(func() {
				want := i%4 + 1 // the attempt that succeeds
				run := 0
				v, err := p.Do(t.Context(), func(ctx context.Context) (int, error) {
					run++
					if n := resilience.AttemptNumber(ctx); n != run {
						t.Errorf("run %d has the number %d", run, n)
					}
					if run < want {
						return 0, errBoom
					}
					return i, nil
				})
				if v != i || err != nil || run != want {
					t.Errorf("call %d: %d, %v after %d runs, want %d", i, v, err, run, want)
				}
			})
		}
		all.Wait()
		if s := db.Snapshot(); s.Calls != calls/4*(1+2+3+4) || s.Failures != calls/4*(1+2+3) {
			t.Errorf("the breaker counted %d calls and %d failures", s.Calls, s.Failures)
		}
		if s := room.Snapshot(); s.Usage != 0 {
			t.Errorf("left behind: %+v", s)
		}
		for _, e := range heard[events.ExecutionFinished](tape) {
			if e.Outcome != events.OutcomeSuccess || e.Attempts < 1 || e.Attempts > 4 {
				t.Errorf("finished %+v", e)
			}
		}
	}
}

// PITFALLS 23
func TestCancellingOneCallLeavesTheOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 100
		p := ints(events.NewBus(), resilience.Timeout{After: time.Hour}, resilience.Retry{Backoff: resilience.Constant(time.Second)},
			quietBreaker("db"), resilience.Timeout{After: time.Minute})
		var succeeded, canceled atomic.Int64
		var all sync.WaitGroup
		for i := range calls {
			ctx, cancel := context.WithCancel(t.Context())
			all.Go(func() {
				defer cancel()
				v, err := p.Do(ctx, func(ctx context.Context) (int, error) {
					select {
					case <-time.After(10 * time.Second):
						return i, nil
					case <-ctx.Done():
						return 0, ctx.Err()
					}
				})
				switch {
				case err == nil && v == i:
					succeeded.Add(1)
				case i == 42 && errors.Is(err, context.Canceled):
					canceled.Add(1)
				default:
					t.Errorf("call %d: %d, %v", i, v, err)
				}
			})
			if i == 42 {
				time.AfterFunc(time.Second, cancel)
			}
		}
		all.Wait()
		if succeeded.Load() != calls-1 || canceled.Load() != 1 {
			t.Errorf("%d succeeded, %d cancelled", succeeded.Load(), canceled.Load())
		}
	})
}

// PIPE-04, PIPE-17: calls, closing and describing at once.
func TestClosingWhileCallsRun(t *testing.T) {
	bus := events.NewBus()
	p := ints(bus, quietBreaker("db"))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 200 {
				if _, err := p.Do(t.Context(), returns(1, nil)); err != nil && err != resilience.ErrClosed {
					t.Errorf("got %v", err)
				}
				if d := p.Describe(); d.Name != "ints" || len(d.Layers) != 1 {
					t.Errorf("described %+v", d)
				}
			}
		})
	}
	all.Go(func() {
		for range 4 {
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	if _, err := p.Do(t.Context(), returns(1, nil)); err != resilience.ErrClosed {
		t.Errorf("after Close: %v", err)
	}
}
