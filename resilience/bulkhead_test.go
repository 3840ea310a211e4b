package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

func bulkhead(max, queue int, wait time.Duration) *resilience.Bulkhead {
	return resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", MaxConcurrent: max, MaxQueue: queue, MaxWait: wait, Bus: events.NewBus()})
}

// room checks that a bulkhead holds nothing any more: as many calls as it lets run can run.
func room(t *testing.T, b *resilience.Bulkhead) {
	t.Helper()
	s := b.Snapshot()
	if s.Usage != 0 || s.Queued != 0 {
		t.Errorf("left behind: %+v", s)
	}
	for i := range s.Limit {
		lease, err := b.Acquire(t.Context())
		if err != nil {
			t.Fatalf("permit %d of %d is lost: %v", i+1, s.Limit, err)
		}
		defer lease.Release(nil)
	}
	if s := b.Snapshot(); s.Usage != s.Limit {
		t.Errorf("all taken: %+v", s)
	}
}

// LIM-01
func TestBulkheadNeverRunsMoreThanItsLimit(t *testing.T) {
	for _, queue := range []int{0, 100} {
		b := bulkhead(5, queue, 0)
		var running, most, refused atomic.Int64
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for range 200 {
					err := b.Run(t.Context(), func(context.Context) error {
						n := running.Add(1)
						for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
						}
						runtime.Gosched()
						running.Add(-1)
						return nil
					})
					if err != nil {
						refused.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if most.Load() > 5 || queue > 0 && refused.Load() > 0 {
			t.Errorf("queue %d: %d at once, %d refused", queue, most.Load(), refused.Load())
		}
		room(t, b)
	}
}

// LIM-02, LIM-05
func TestBulkheadWithoutAQueueRejectsTheNextAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		b := bulkhead(2, 0, 0)
		for range 2 {
			lease, err := b.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer lease.Release(nil)
		}
		began := time.Now()
		err := ints(bus, b).Run(t.Context(), func(context.Context) error { t.Error("the operation ran"); return nil })
		limited := new(resilience.LimitedError)
		if !errors.Is(err, resilience.ErrLimited) || !errors.As(err, &limited) || time.Since(began) != 0 {
			t.Fatalf("%v after %v", err, time.Since(began))
		}
		if limited.Layer != "pool" || limited.Reason != events.ReasonFull || limited.RetryAfter() != 0 || err.Error() != "resilience: bulkhead pool rejected the call: full (2 of 2 running)" {
			t.Errorf("%+v: %v", limited, err)
		}
		if told := heard[events.CallRejected](tape); len(told) != 1 || told[0].Reason != events.ReasonFull || told[0].Source.Layer() != "pool" {
			t.Errorf("told %+v", told)
		}
	})
}

// LIM-02
func TestBulkheadServesItsQueueInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulkhead(1, 3, time.Minute)
		first, _ := b.Acquire(t.Context())
		var order []int
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				if err := b.Run(t.Context(), func(context.Context) error { order = append(order, i); time.Sleep(time.Second); return nil }); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		if s := b.Snapshot(); s.Queued != 3 || s.Usage != 1 || s.Limit != 1 {
			t.Errorf("%+v", s)
		}
		began := time.Now()
		if err := b.Run(t.Context(), succeed); !errors.Is(err, resilience.ErrLimited) || time.Since(began) != 0 {
			t.Errorf("with the queue full: %v after %v", err, time.Since(began))
		}
		first.Release(nil)
		wg.Wait()
		if !slices.Equal(order, []int{0, 1, 2}) || time.Since(began) != 3*time.Second {
			t.Errorf("served %v in %v", order, time.Since(began))
		}
		room(t, b)
	})
}

// LIM-02
func TestBulkheadRejectsAtTheWaitLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		b := bulkhead(1, 1, 2*time.Second)
		lease, _ := b.Acquire(t.Context())
		began := time.Now()
		err := ints(bus, b).Run(t.Context(), succeed)
		limited := new(resilience.LimitedError)
		if !errors.As(err, &limited) || limited.Reason != events.ReasonQueueTimeout || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if e := heard[events.ExecutionFinished](tape)[0]; e.Queued != 2*time.Second || e.Attempts != 0 || e.Outcome != events.OutcomeRejected {
			t.Errorf("finished: %+v", e)
		}
		lease.Release(nil)
		room(t, b)
	})
}

// LIM-03, PIPE-15
func TestWaiterWhoseContextEndsLeavesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("gone")
		b := bulkhead(1, 5, 0)
		lease, _ := b.Acquire(t.Context())
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(gone) })
		began := time.Now()
		err := b.Run(ctx, succeed)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, gone) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if s := b.Snapshot(); s.Queued != 0 {
			t.Errorf("%+v", s)
		}
		lease.Release(nil)
		room(t, b)
	})
}

// sleepy is a context that has ended, although its Done says so too late.
type sleepy struct{ context.Context }

func (sleepy) Done() <-chan struct{} { return nil }

// LIM-03: when both have ended, the wait and the caller's context, the caller's end is told, and nothing is refused.
func TestWaitLimitDoesNotHideTheCallersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		b := bulkhead(1, 5, time.Second)
		lease, _ := b.Acquire(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second-1)
		defer cancel()
		err := ints(bus, b).Run(sleepy{ctx}, succeed)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, resilience.ErrLimited) || len(heard[events.CallRejected](tape)) != 0 {
			t.Errorf("%v, told %v", err, tape.names())
		}
		lease.Release(nil)
		room(t, b)
	})
}

// LIM-04, PIPE-13
func TestBulkheadGetsItsPermitBackHoweverTheCallEnds(t *testing.T) {
	for _, queue := range []int{0, 2} {
		for name, op := range map[string]func(context.Context) error{
			"success": succeed, "error": fail,
			"panic":  func(context.Context) error { panic("oh") },
			"goexit": func(context.Context) error { runtime.Goexit(); return nil },
		} {
			b := bulkhead(1, queue, 0)
			for _, run := range []func(context.Context, func(context.Context) error) error{b.Run, ints(events.NewBus(), b).Run} {
				for range 3 {
					apart(func() {
						defer func() {
							if r := recover(); (r == "oh") != (name == "panic") {
								t.Errorf("%s: recovered %v", name, r)
							}
						}()
						_ = run(t.Context(), op)
					})
				}
			}
			room(t, b)
		}
	}
}

// PIPE-14: a context that is done is never admitted, though there is room.
func TestDoneContextIsNeverAdmitted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, queue := range []int{0, 5} {
		b := bulkhead(5, queue, 0)
		br := breaker(resilience.BreakerConfig{})
		p := ints(events.NewBus(), b, br)
		for i := range 1000 {
			op := func(context.Context) error { t.Fatalf("run %d", i); return nil }
			for _, run := range []func(context.Context, func(context.Context) error) error{b.Run, br.Run, p.Run} {
				if err := run(ctx, op); !errors.Is(err, context.Canceled) || resilience.KindOf(err) != resilience.KindCanceled {
					t.Fatalf("got %v", err)
				}
			}
			if lease, err := b.Acquire(ctx); lease != nil || !errors.Is(err, context.Canceled) {
				t.Fatalf("acquired %v, %v", lease, err)
			}
		}
		room(t, b)
	}
}

// LIM-05
func TestBulkheadDescribesItself(t *testing.T) {
	info := bulkhead(3, 2, time.Second).LayerInfo()
	if got := fmt.Sprint(info); got != "{pool bulkhead [{max_concurrent 3} {max_queue 2} {max_wait 1s}]}" {
		t.Error(got)
	}
}
