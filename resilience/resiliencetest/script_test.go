package resiliencetest

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAScriptDoesOneStepAfterAnother(t *testing.T) {
	op := Script(Fails[int](errDown).Times(2), Returns(7), Does(func(context.Context) (int, error) { return 8, errKit }), Returns(9).Times(math.MaxInt))
	for i, want := range []struct {
		v   int
		err error
	}{{0, errDown}, {0, errDown}, {7, nil}, {8, errKit}, {9, nil}, {9, nil}} {
		if v, err := op.Do(t.Context()); v != want.v || err != want.err {
			t.Errorf("run %d: %v, %v, want %v, %v", i+1, v, err, want.v, want.err)
		}
	}
	if op.Runs() != 6 || op.Running() != 0 || op.MostAtOnce() != 1 {
		t.Errorf("%d runs, %d now, %d at once", op.Runs(), op.Running(), op.MostAtOnce())
	}
	for _, zero := range []*Scripted[int]{Script[int](), Script(Step[int]{})} {
		if v, err := zero.Do(t.Context()); v != 0 || err != nil {
			t.Errorf("%v, %v of an empty script", v, err)
		}
	}
	last := Script(Returns(1), Returns(2).Times(-3))
	for range 3 {
		_, _ = last.Do(t.Context())
	}
	if v, _ := last.Do(t.Context()); v != 2 {
		t.Errorf("the last step gives %d, want 2 for ever", v)
	}
}

func TestAScriptHangsPanicsAndExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := Script(Hangs[int]()).Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a hang ends with %v", err)
		}
		began := time.Now()
		if v, err := Script(Returns(1).After(time.Minute)).Do(ctx); v != 1 || err != nil || time.Since(began) != time.Minute {
			t.Errorf("a late success: %v, %v after %v", v, err, time.Since(began))
		}
		op := Script(Panics[int]("oh"), Goexits[int]())
		if p, _ := apart(func() { _, _ = op.Do(ctx) }); p != "oh" {
			t.Errorf("panics with %v", p)
		}
		if p, returned := apart(func() { _, _ = op.Do(ctx) }); p != nil || returned {
			t.Errorf("panic %v, returned %v; want a Goexit", p, returned)
		}
		if op.Running() != 0 || op.Runs() != 2 {
			t.Errorf("%d run, of %d", op.Running(), op.Runs())
		}
	})
}

func TestAScriptCountsWhatRunsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op := Script(Returns(1).After(time.Second))
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { _ = op.Run(t.Context()) })
		}
		synctest.Wait()
		if op.Running() != 5 {
			t.Errorf("%d running, want 5", op.Running())
		}
		wg.Wait()
		_ = op.Run(t.Context())
		if op.MostAtOnce() != 5 || op.Runs() != 6 {
			t.Errorf("%d at once of %d", op.MostAtOnce(), op.Runs())
		}
	})
}
