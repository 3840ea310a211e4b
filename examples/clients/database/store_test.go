package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

func opened(t *testing.T) (*breakable, *store, *events.Bus) {
	t.Helper()
	server, db, err := open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	bus := events.NewBus()
	s, err := newStore(db, bus)
	if err != nil {
		t.Fatal(err)
	}
	if w := s.calls.Warnings(); len(w) > 0 {
		t.Errorf("the pipeline warns of %+v", w)
	}
	if err := s.place(t.Context(), order{ID: 1, Item: "chair", Count: 2}); err != nil {
		t.Fatal(err)
	}
	return server, s, bus
}

// nothingLeaked fails if a connection is still taken, or a call no longer works.
func nothingLeaked(t *testing.T, s *store) {
	t.Helper()
	// What a caller who left had begun is undone on another goroutine, by database/sql.
	for late := time.Now().Add(10 * time.Second); s.db.Stats().InUse != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d connections in use at the end, want 0", s.db.Stats().InUse)
		}
	}
	if o, err := s.find(context.Background(), 1); err != nil || o.Item != "chair" {
		t.Errorf("the next call got %v %v", o, err)
	}
}

func TestCallsThatFindNoConnectionAreRefusedByTheBulkheadAndNeverQueueInThePool(t *testing.T) {
	_, s, _ := opened(t)
	const callers = 50
	errs := make(chan error, callers)
	err := s.whileBusy(t.Context(), func() error {
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				_, err := s.find(t.Context(), 1)
				errs <- err
			})
		}
		all.Wait()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[events.Reason]int{}
	for range callers {
		var limited *resilience.LimitedError
		if err := <-errs; !errors.As(err, &limited) {
			t.Fatalf("a call beyond the pool got %v, want a refusal", err)
		}
		reasons[limited.Reason]++
	}
	if reasons[events.ReasonQueueTimeout] != 2*connections || reasons[events.ReasonFull] != callers-2*connections {
		t.Errorf("refused: %v, want %d of %d that waited in vain, the rest at once", reasons, 2*connections, callers)
	}
	if n := s.db.Stats().WaitCount; n != 0 {
		t.Errorf("%d calls waited in the pool's own queue, want 0", n)
	}
	nothingLeaked(t, s)
}

func TestAStatementThatTakesTooLongIsEndedByTheTimeout(t *testing.T) {
	_, s, _ := opened(t)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // so that the test ends, too
	defer cancel()
	_, err := s.audit(ctx)
	if !errors.Is(err, resilience.ErrTimeout) || resilience.KindOf(err) != resilience.KindUnavailable {
		t.Errorf("got %v of the kind %v, want a timeout", err, resilience.KindOf(err))
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v: was the statement interrupted?", took)
	}
	nothingLeaked(t, s)
}

func TestABrokenConnectionIsReplacedByThePoolAndNotByUs(t *testing.T) {
	server, s, bus := opened(t)
	for name, want := range map[string]struct {
		broken, arrived int32
		err             error
	}{
		"one":  {broken: 1, arrived: 2},
		"all":  {broken: 100, arrived: 3, err: driver.ErrBadConn}, // two of the pool, then a new one
		"none": {arrived: 1},
	} {
		rec := resiliencetest.Record(bus, "orders-db.call")
		before := server.arrived.Load()
		server.breaks.Store(want.broken)
		_, err := s.find(t.Context(), 1)
		server.breaks.Store(0)
		rec.Stop()
		if !errors.Is(err, want.err) {
			t.Errorf("%s broken: got %v, want %v", name, err, want.err)
		}
		if n := server.arrived.Load() - before; n != want.arrived {
			t.Errorf("%s broken: the driver was asked %d times, want %d", name, n, want.arrived)
		}
		if n := len(resiliencetest.Of[events.AttemptFinished](rec)); n != 1 {
			t.Errorf("%s broken: %d attempts of ours, want 1: database/sql owns the retry", name, n)
		}
	}
	nothingLeaked(t, s)
}

func TestNoRowsIsToldAsASuccess(t *testing.T) {
	_, s, bus := opened(t)
	rec := resiliencetest.Record(bus, "orders-db.call")
	defer rec.Stop()
	if _, err := s.find(t.Context(), 404); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("got %v, want sql.ErrNoRows", err)
	}
	resiliencetest.Want(t, rec, events.ExecutionFinished{Outcome: events.OutcomeSuccess})
}

func TestATransactionThatFailsLeavesNothingBehind(t *testing.T) {
	_, s, _ := opened(t)
	if err := s.place(t.Context(), order{ID: 2, Item: "chair", Count: 11}); err == nil {
		t.Error("more chairs than there are were sold")
	}
	if n := s.db.Stats().InUse; n != 0 {
		t.Errorf("%d connections in use after a transaction that failed, want 0", n)
	}
	ctx, leave := context.WithCancel(t.Context())
	err := s.calls.Run(ctx, func(ctx context.Context) error {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		leave() // the caller leaves in the middle
		_, err = tx.ExecContext(ctx, `INSERT INTO orders VALUES (3, 'chair', 1)`)
		return err
	})
	if resilience.KindOf(err) != resilience.KindCanceled {
		t.Errorf("a caller who leaves got %v", err)
	}
	for _, id := range []int64{2, 3} {
		if _, err := s.find(t.Context(), id); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("order %d is there although its transaction failed: %v", id, err)
		}
	}
	nothingLeaked(t, s)
}

func TestTheExampleTellsWhatHappens(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"-> {1 chair 2} <nil>", "-> sql: no rows", "-> <nil>, the driver was asked 2 times", "no result within 1s",
		"queue timeout", ": answer with 429", "in use at the end: 0",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not say %q:\n%s", want, out.String())
		}
	}
}
