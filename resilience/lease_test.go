package resilience_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// BRK-01, BRK-07
func TestLeaseTellsHowTheCallEnded(t *testing.T) {
	b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 2})
	end := func(err error) {
		t.Helper()
		lease, refused := b.Acquire(t.Context())
		if refused != nil {
			t.Fatal(refused)
		}
		lease.Release(err)
	}
	end(errBoom)
	end(nil)
	end(errBoom)
	state(t, b, events.StateClosed)
	end(errBoom)
	state(t, b, events.StateOpen)
	if lease, err := b.Acquire(t.Context()); lease != nil || !errors.Is(err, resilience.ErrBreakerOpen) {
		t.Errorf("while open: %v, %v", lease, err)
	}
}

// LIM-04: the first Release counts, on whatever goroutine.
func TestLeaseIsReleasedOnce(t *testing.T) {
	b := breaker(resilience.BreakerConfig{ConsecutiveFailures: 2})
	pool := bulkhead(2, 0, 0)
	one, _ := b.Acquire(t.Context())
	two, _ := pool.Acquire(t.Context())
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() { one.Release(errBoom); two.Release(nil) })
	}
	wg.Wait()
	state(t, b, events.StateClosed)
	if s := b.Snapshot(); s.Failures != 1 {
		t.Errorf("counted %d times", s.Failures)
	}
	room(t, pool)
}

// BRK-19, PIPE-15: an error after the context has ended is the caller's.
func TestLeaseOfACallerWhoLeftDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			end  error
			want events.State
		}{{errBoom, events.StateHalfOpen}, {context.Canceled, events.StateHalfOpen}, {nil, events.StateClosed}} {
			b := probing(t, resilience.BreakerConfig{MaxProbeTime: -1})
			ctx, cancel := context.WithCancel(t.Context())
			lease, err := b.Acquire(ctx)
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			lease.Release(c.end)
			state(t, b, c.want)
		}
	})
}

// BUS-03, LIM-05: a refusal is told, a lease is not the end of a call.
func TestAcquireTellsRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		b := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", MaxConcurrent: 1, Bus: bus})
		lease, _ := b.Acquire(t.Context())
		_, err := b.Acquire(t.Context())
		told := heard[events.CallRejected](tape)
		if len(told) != 1 || told[0].Err != err || told[0].Source.Layer() != "pool" || told[0].Source.Pipeline() != "" || !told[0].At.Equal(time.Now()) {
			t.Errorf("told %+v", told)
		}
		lease.Release(nil)
		if n := len(tape.names()); n != 1 {
			t.Errorf("told %v", tape.names())
		}
	})
}

// PIPE-03: the primitives alone map the caller's end as pipelines do, and refuse an operation that is none.
func TestPrimitiveAloneReturnsWhatAPipelineWould(t *testing.T) {
	for _, run := range []func(context.Context, func(context.Context) error) error{
		breaker(resilience.BreakerConfig{}).Run, bulkhead(1, 0, 0).Run, bulkhead(1, 1, 0).Run,
	} {
		if err := run(t.Context(), succeed); err != nil {
			t.Errorf("success: %v", err)
		}
		if err := run(t.Context(), fail); err != errBoom {
			t.Errorf("failure: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := run(ctx, func(context.Context) error { cancel(); return errBoom }); !errors.Is(err, errBoom) || resilience.KindOf(err) != resilience.KindCanceled {
			t.Errorf("cancelled: %v", err)
		}
		if err := run(t.Context(), nil); err == nil {
			t.Error("no operation, no error")
		}
	}
}
