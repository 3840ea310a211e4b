package resilience_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// LIM-07: those who wait have turns at the new rate at once; what is taken stays taken.
func TestSetRateGivesThoseWhoWaitTheirTurnsAnew(t *testing.T) {
	for _, c := range []struct {
		rate, burst int
		per         time.Duration
		turns       []time.Duration // of those who wait, after the change
		refused     int
	}{
		{2, 1, time.Second, []time.Duration{250e6, 750e6, 1250e6, 1750e6}, 0}, // half a call was refilled at the old rate
		{1, 3, time.Second, []time.Duration{0, 0, 500e6, 1500e6}, 0},
		{1000, 1, time.Second, []time.Duration{500e3, 1500e3, 2500e3, 3500e3}, 0},
		{1, 1, 20 * time.Second, []time.Duration{10 * time.Second, 30 * time.Second}, 2}, // the others' limit is 40 s
	} {
		synctest.Test(t, func(t *testing.T) {
			l := rated(1, 1, 40*time.Second)
			through(t, l)
			var mu sync.Mutex
			var turns []time.Duration
			refused := 0
			var changed time.Time
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					err := l.Run(t.Context(), succeed)
					mu.Lock()
					defer mu.Unlock()
					if limited := new(resilience.LimitedError); errors.As(err, &limited) {
						if refused++; limited.Reason != events.ReasonRate || limited.After <= 0 || !time.Now().Equal(changed) {
							t.Errorf("%v after %v", err, time.Since(changed))
						}
						return
					}
					turns = append(turns, time.Since(changed))
				})
				synctest.Wait()
			}
			time.Sleep(500 * time.Millisecond)
			changed = time.Now()
			if err := l.SetRate(c.rate, c.per, c.burst); err != nil {
				t.Error(err)
			}
			wg.Wait()
			if !slices.Equal(turns, c.turns) || refused != c.refused {
				t.Errorf("%d a %v with a burst of %d: turns after %v, %d refused", c.rate, c.per, c.burst, turns, refused)
			}
			if s := l.Snapshot(); s.Queued != 0 {
				t.Errorf("left behind %+v", s)
			}
			// It goes on at the new rate.
			time.Sleep(time.Hour)
			if n := through(t, l); n != c.burst {
				t.Errorf("an hour later %d at once", n)
			}
			time.Sleep(c.per / time.Duration(c.rate))
			if n := through(t, l); n != 1 {
				t.Errorf("refilled %d", n)
			}
		})
	}
}

// LIM-07: how many are taken stays, whatever the rate.
func TestSetRateKeepsWhatIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rated(1, 10, 0)
		for range 4 {
			_ = l.Run(t.Context(), succeed)
		}
		for _, c := range []struct{ rate, per, burst, taken int }{{1000, 1, 10, 4}, {1, 3600, 10, 4}, {1, 3600, 3, 3}, {7, 3, 100, 3}} {
			if err := l.SetRate(c.rate, time.Duration(c.per)*time.Second, c.burst); err != nil {
				t.Error(err)
			}
			stands(t, l, int64(c.taken), 0)
		}
		if n := through(t, l); n != 97 {
			t.Errorf("%d at once, 97 are left of 100", n)
		}
	})
}

// LIM-07: what those lost who left the line is no part of the burst, so a greater one does not keep it.
func TestSetRateForgetsWhatIsOverdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rated(1, 1, 10*time.Second)
		_ = l.Run(t.Context(), succeed)
		var leave []context.CancelFunc
		for range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			leave = append(leave, cancel)
			go func() { _ = l.Run(ctx, succeed) }()
			synctest.Wait()
		}
		for _, cancel := range leave { // the first has one behind it, and gives nothing back
			cancel()
			synctest.Wait()
		}
		if err := l.SetRate(1, time.Second, 10); err != nil {
			t.Error(err)
		}
		stands(t, l, 1, 0)
	})
}

// LIM-07, LIM-06: while the rate changes all the time, nobody is stranded, and no more come through than the highest rate
// and the burst let. (A burst that shrinks forgets what was taken beyond it.)
func TestNobodyIsStrandedWhileTheRateChanges(t *testing.T) {
	began := time.Now()
	l := rated(1000, 5, 2*time.Millisecond)
	var admitted atomic.Int64
	var callers, setter sync.WaitGroup
	stop := make(chan struct{})
	setter.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
				if err := l.SetRate(1000*(1+i%5), time.Second, 5); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 16 {
		callers.Go(func() {
			for range 100 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(3000))*time.Microsecond)
				if l.Run(ctx, succeed) == nil {
					admitted.Add(1)
				}
				cancel()
			}
		})
	}
	callers.Wait()
	close(stop)
	setter.Wait()
	if most := int64(time.Since(began))*5000/int64(time.Second) + 5; admitted.Load() > most || admitted.Load() == 0 {
		t.Errorf("%d let through, at most %d", admitted.Load(), most)
	}
	if s := l.Snapshot(); s.Queued != 0 {
		t.Errorf("left behind %+v", s)
	}
}
