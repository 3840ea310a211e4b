package resilience_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// LIM-06, PIPE-15: the last in the line gives its part back, and then the one before it is the last.
func TestTheLastWhoWaitsGivesItsPartBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rated(1, 1, time.Hour)
		through(t, l)
		gone := errors.New("gone")
		var leave []context.CancelCauseFunc
		var wg sync.WaitGroup
		for range 3 {
			ctx, cancel := context.WithCancelCause(t.Context())
			leave = append(leave, cancel)
			wg.Go(func() {
				if err := l.Run(ctx, succeed); !errors.Is(err, context.Canceled) || !errors.Is(err, gone) {
					t.Errorf("got %v", err)
				}
			})
			synctest.Wait()
		}
		time.Sleep(500 * time.Millisecond)
		began := time.Now()
		for i := 2; i >= 0; i-- {
			leave[i](gone)
			synctest.Wait()
			stands(t, l, 1, int64(i))
		}
		wg.Wait()
		if time.Since(began) != 0 {
			t.Errorf("left after %v", time.Since(began))
		}
		if err := l.Run(t.Context(), succeed); err != nil || time.Since(began) != 500*time.Millisecond {
			t.Errorf("the next: %v after %v", err, time.Since(began))
		}
	})
}

// LIM-06: those behind keep their turns, and nobody gets a part that one before them has left.
func TestPartOfAWaiterWhoLeavesBeforeOthersIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rated(1, 1, time.Hour)
		through(t, l)
		began := time.Now()
		ctx, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { l.Run(ctx, succeed) })
		synctest.Wait()
		for i := range 2 {
			wg.Go(func() {
				if err := l.Run(t.Context(), succeed); err != nil || time.Since(began) != time.Duration(i+2)*time.Second {
					t.Errorf("behind: %v after %v", err, time.Since(began))
				}
			})
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		stands(t, l, 1, 2)
		if err := l.Run(t.Context(), succeed); err != nil || time.Since(began) != 4*time.Second {
			t.Errorf("who comes later: %v after %v", err, time.Since(began))
		}
		wg.Wait()
	})
}

// LIM-06: when all have left, in whatever order, the next has its turn within an interval.
func TestNobodyWaitsForThoseWhoHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rated(1, 1, time.Hour)
		through(t, l)
		ctx, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { l.Run(ctx, succeed) })
		}
		synctest.Wait()
		stands(t, l, 1, 50)
		leave()
		wg.Wait()
		began := time.Now()
		if err := l.Run(t.Context(), succeed); err != nil || time.Since(began) > time.Second {
			t.Errorf("the next: %v after %v", err, time.Since(began))
		}
	})
}

// LIM-06: a caller that ends at the instant of its turn, and is found to have ended, gives it back.
func TestTurnDoesNotHideTheCallersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rated(1, 1, time.Hour)
		through(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second-1, cancel)
		if err := l.Run(sleepy{ctx}, succeed); !errors.Is(err, context.Canceled) || errors.Is(err, resilience.ErrLimited) {
			t.Errorf("got %v", err)
		}
		if n := through(t, l); n != 1 {
			t.Errorf("%d have the turn that nobody took", n)
		}
	})
}

// LIM-06: the same for who does not wait, and is refused until then.
func TestNobodyIsRefusedForThoseWhoHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rated(1, 1, time.Hour)
		through(t, l)
		leaves := make([]context.CancelFunc, 50)
		var wg sync.WaitGroup
		for i := range leaves {
			var ctx context.Context
			ctx, leaves[i] = context.WithCancel(t.Context())
			wg.Go(func() { l.Run(ctx, succeed) })
			synctest.Wait()
		}
		for _, leave := range leaves { // the first in the line first, so that one part is given back, the last
			leave()
			synctest.Wait()
		}
		wg.Wait()
		stands(t, l, 1, 0)
		if n := through(t, l); n != 0 {
			t.Errorf("%d went through too soon", n)
		}
		time.Sleep(time.Second)
		if n := through(t, l); n != 1 {
			t.Errorf("%d went through a second later", n)
		}
	})
}
