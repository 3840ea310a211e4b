package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

var errCause = errors.New("the client hung up")

// PIPE-14, PITFALLS 25
func TestACallerWhoHasLeftIsNotServed(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	gate := &counting{}
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Bus: bus})
	room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", Bus: bus})
	p := ints(bus, gate, db, room, resilience.Retry{})
	canceled, cancel := context.WithCancelCause(t.Context())
	cancel(errCause)
	expired, cancelExpired := context.WithDeadlineCause(t.Context(), time.Now().Add(-1), errCause)
	defer cancelExpired()
	runs := 0
	op := func(context.Context) error { runs++; return nil }
	for range 1000 {
		for _, ctx := range []context.Context{canceled, expired} {
			for how, call := range map[string]func() error{
				"Do": func() error {
					_, err := p.Do(ctx, func(ctx context.Context) (int, error) { return 1, op(ctx) })
					return err
				},
				"DoKey": func() error {
					_, err := p.DoKey(ctx, "k", func(ctx context.Context) (int, error) { return 1, op(ctx) })
					return err
				},
				"Run":   func() error { return p.Run(ctx, op) },
				"alone": func() error { return db.Run(ctx, op) },
				"Acquire": func() error {
					_, err := room.Acquire(ctx)
					return err
				},
				"resilience.Run": func() error { return resilience.Run(ctx, op, db) },
			} {
				var marked *resilience.CanceledError
				if err := call(); !errors.As(err, &marked) || marked.Err != ctx.Err() || marked.Last != nil || !errors.Is(err, errCause) {
					t.Fatalf("%s: got %v, want the context's error and its cause", how, err)
				}
			}
		}
	}
	if runs != 0 || gate.outstanding != 0 || len(gate.outcomes) != 0 || room.Snapshot().Usage != 0 || db.Snapshot().Calls != 0 {
		t.Errorf("%d runs, %d admitted, %+v, %+v; want nothing", runs, len(gate.outcomes), room.Snapshot(), db.Snapshot())
	}
	if names := tape.names(); len(names) != 0 {
		t.Errorf("told: %v", names)
	}
}

// PIPE-15, PIPE-16, PIPE-21, PITFALLS 20 and 26
func TestTheCallersEndIsNoFailure(t *testing.T) {
	type end struct {
		name string
		of   func(context.Context) (context.Context, func())
		err  error
	}
	ends := []end{
		{"cancelled", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(errCause) }
		}, context.Canceled},
		{"expired", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeoutCause(ctx, time.Second, errCause)
			return ctx, func() {
				time.Sleep(time.Second)
				synctest.Wait()
				cancel()
			}
		}, context.DeadlineExceeded},
	}
	for _, end := range ends {
		for what, returned := range map[string]func(context.Context) error{
			"its context's error": func(ctx context.Context) error { return ctx.Err() },
			"its context's cause": context.Cause,
			"an error of its own": func(context.Context) error { return errBoom },
			"a wrapped error":     func(ctx context.Context) error { return fmt.Errorf("query: %w", ctx.Err()) },
			"a deadline, always":  func(context.Context) error { return context.DeadlineExceeded },
		} {
			synctest.Test(t, func(t *testing.T) {
				bus := events.NewBus()
				tape := record(bus)
				db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Bus: bus})
				gate := &counting{}
				ctx, leave := end.of(t.Context())
				runs := 0
				var own error
				err := ints(bus, gate, resilience.Retry{}, db).Run(ctx, func(ctx context.Context) error {
					runs++
					leave()
					own = returned(ctx)
					return own
				})
				what := end.name + ", the operation returned " + what
				var marked *resilience.CanceledError
				if !errors.As(err, &marked) || marked.Err != end.err || marked.Cause != errCause || resilience.KindOf(err) != resilience.KindCanceled {
					t.Errorf("%s: got %#v", what, err)
				}
				if !errors.Is(err, own) || !errors.Is(err, errCause) || !errors.Is(err, end.err) {
					t.Errorf("%s: not all is found in %v", what, err)
				}
				if runs != 1 || db.State() != events.StateClosed || db.Snapshot().Calls != 0 {
					t.Errorf("%s: %d runs, the breaker counted %+v", what, runs, db.Snapshot())
				}
				if gate.outstanding != 0 || gate.outcomes[0].Kind != resilience.Canceled {
					t.Errorf("%s: the gate learned %+v", what, gate.outcomes)
				}
				if e := heard[events.ExecutionFinished](tape)[0]; e.Outcome != events.OutcomeCanceled {
					t.Errorf("%s: finished %+v", what, e)
				}
				if e := heard[events.AttemptFinished](tape)[0]; e.Outcome != events.OutcomeCanceled {
					t.Errorf("%s: attempt %+v", what, e)
				}
			})
		}
	}
}

// PIPE-15
func TestASuccessIsKeptThoughTheCallerHasLeft(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureRatio: 0.5, Bus: bus})
	ctx, cancel := context.WithCancel(t.Context())
	v, err := ints(bus, resilience.Retry{}, db).Do(ctx, func(context.Context) (int, error) { cancel(); return 7, nil })
	if v != 7 || err != nil || db.Snapshot().Calls != 1 {
		t.Errorf("%d, %v; the breaker counted %+v", v, err, db.Snapshot())
	}
	if e := heard[events.ExecutionFinished](tape)[0]; e.Outcome != events.OutcomeSuccess {
		t.Errorf("finished %+v", e)
	}
}

// PIPE-15: no wait outlives the caller.
func TestEveryWaitEndsWhenTheCallerLeaves(t *testing.T) {
	for what, layers := range map[string][]resilience.Layer{
		"backoff":               {resilience.Retry{Backoff: resilience.Constant(time.Minute), MaxDelay: time.Hour}},
		"backoff, with a limit": {resilience.Timeout{After: time.Hour}, resilience.Retry{Backoff: resilience.Constant(time.Minute)}, resilience.Timeout{}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			began := time.Now()
			time.AfterFunc(time.Second, func() { cancel(errCause) })
			err := ints(events.NewBus(), layers...).Run(ctx, fail)
			if took := time.Since(began); took != time.Second || !errors.Is(err, errBoom) || !errors.Is(err, errCause) {
				t.Errorf("%s: %v after %v", what, err, took)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, MaxQueue: 1, Bus: events.Off()})
		lease, _ := room.Acquire(t.Context())
		ctx, cancel := context.WithCancelCause(t.Context())
		began := time.Now()
		time.AfterFunc(time.Second, func() { cancel(errCause) })
		db := quietBreaker("db")
		err := ints(events.NewBus(), resilience.Retry{}, db, room).Run(ctx, succeed)
		if took := time.Since(began); took != time.Second || resilience.KindOf(err) != resilience.KindCanceled || !errors.Is(err, errCause) {
			t.Errorf("queue: %v after %v", err, took)
		}
		lease.Release(nil)
		if r := room.Snapshot(); r.Usage != 0 || r.Queued != 0 || db.Snapshot().Failures != 0 {
			t.Errorf("left behind: %+v, %+v", r, db.Snapshot())
		}
	})
}
