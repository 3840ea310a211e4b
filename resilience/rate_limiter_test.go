package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// rated makes a limiter of so many calls a second.
func rated(rate, burst int, wait time.Duration) *resilience.RateLimiter {
	return resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "quota", Rate: rate, Burst: burst, MaxWait: wait, Bus: events.NewBus()})
}

// through counts how many calls in a row a limiter lets through at once, up to a thousand.
func through(t *testing.T, l *resilience.RateLimiter) (n int) {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now()) // nobody waits
	defer cancel()
	for n < 1000 {
		_, err := l.Admit(ctx, resilience.Call{})
		if err != nil {
			if !errors.Is(err, resilience.ErrLimited) {
				t.Fatal(err)
			}
			break
		}
		n++
	}
	return n
}

// stands checks a limiter's reading.
func stands(t *testing.T, l *resilience.RateLimiter, taken, queued int64) {
	t.Helper()
	if s := l.Snapshot(); s.Usage != taken || s.Queued != queued {
		t.Errorf("%+v, want %d taken and %d who wait", s, taken, queued)
	}
}

// LIM-05, LIM-06
func TestRateLimiterRejectsWhatComesTooSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		l := rated(10, 2, 0)
		p := ints(bus, l)
		for range 2 {
			if err := p.Run(t.Context(), succeed); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(30 * time.Millisecond)
		err := p.Run(t.Context(), func(context.Context) error { t.Error("the operation ran"); return nil })
		limited := new(resilience.LimitedError)
		if !errors.Is(err, resilience.ErrLimited) || !errors.As(err, &limited) {
			t.Fatal(err)
		}
		if limited.Layer != "quota" || limited.Reason != events.ReasonRate || limited.RetryAfter() != 70*time.Millisecond ||
			err.Error() != "resilience: rate limiter quota rejected the call: rate (10 per 1s), retry after 70ms" || resilience.KindOf(err) != resilience.KindLimited {
			t.Errorf("%+v: %v", limited, err)
		}
		if told := heard[events.CallRejected](tape); len(told) != 1 || told[0].Reason != events.ReasonRate ||
			told[0].RetryAfter != 70*time.Millisecond || told[0].Source.Layer() != "quota" {
			t.Errorf("told %+v", told)
		}
		stands(t, l, 2, 0)
		time.Sleep(limited.After - 1)
		if n := through(t, l); n != 0 {
			t.Errorf("%d went through too soon", n)
		}
		time.Sleep(time.Nanosecond)
		if n := through(t, l); n != 1 {
			t.Errorf("%d went through when told to come back", n)
		}
	})
}

// LIM-06
func TestUnusedAllowanceDoesNotExceedTheBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, burst := range []int{1, 3, 100} {
			l := rated(100, burst, time.Minute)
			for _, idle := range []time.Duration{0, time.Hour, 20 * 365 * 24 * time.Hour} {
				time.Sleep(idle)
				stands(t, l, 0, 0)
				if n := through(t, l); n != burst {
					t.Errorf("burst %d, after %v: %d at once", burst, idle, n)
				}
				stands(t, l, int64(burst), 0)
				time.Sleep(time.Minute)
			}
		}
		if n := through(t, rated(7, 0, 0)); n != 7 { // the default
			t.Errorf("%d at once", n)
		}
	})
}

// LIM-06
func TestRateLimiterServesThoseWhoWaitInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		l := rated(1, 1, 3*time.Second)
		p := ints(bus, l)
		began := time.Now()
		var order []int
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				err := p.Run(t.Context(), func(context.Context) error { order = append(order, i); return nil })
				if err != nil || time.Since(began) != time.Duration(i)*time.Second {
					t.Errorf("call %d: %v after %v", i, err, time.Since(began))
				}
			})
			synctest.Wait()
		}
		stands(t, l, 1, 3)
		limited := new(resilience.LimitedError)
		if err := p.Run(t.Context(), succeed); !errors.As(err, &limited) || limited.After != 4*time.Second || time.Since(began) != 0 {
			t.Errorf("who would wait too long: %v after %v", err, time.Since(began))
		}
		stands(t, l, 1, 3)
		wg.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3}) {
			t.Errorf("served %v", order)
		}
		finished := heard[events.ExecutionFinished](tape)
		if last := finished[len(finished)-1]; last.Queued != 3*time.Second {
			t.Errorf("finished: %+v", last)
		}
		stands(t, l, 1, 0)
		time.Sleep(time.Second)
		stands(t, l, 0, 0)
	})
}

// LIM-06
func TestWaitThatCannotEndBeforeTheDeadlineIsRejectedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rated(1, 1, time.Hour)
		through(t, l)
		for _, limit := range []time.Duration{time.Millisecond, time.Second - 1, time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			began := time.Now()
			limited := new(resilience.LimitedError)
			if err := l.Run(ctx, succeed); !errors.As(err, &limited) || limited.After != time.Second || time.Since(began) != 0 {
				t.Errorf("%v: %v after %v", limit, err, time.Since(began))
			}
			// A Timeout layer outside is such a deadline.
			if err := ints(events.NewBus(), resilience.Timeout{After: limit}, l).Run(t.Context(), succeed); !errors.As(err, &limited) || time.Since(began) != 0 {
				t.Errorf("within a timeout of %v: %v after %v", limit, err, time.Since(began))
			}
			cancel()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second+1)
		defer cancel()
		began := time.Now()
		if err := l.Run(ctx, succeed); err != nil || time.Since(began) != time.Second { // those before took nothing
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// LIM-06: inside a Retry each attempt takes its part, and how a call ends gives nothing back and takes nothing.
func TestEachCallTakesOnceHoweverItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rated(1, 10, 0)
		if err := ints(events.NewBus(), resilience.Retry{MaxAttempts: 3, Backoff: resilience.NoDelay}, l).Run(t.Context(), fail); !errors.Is(err, errBoom) {
			t.Error(err)
		}
		stands(t, l, 3, 0)
		for _, op := range []func(context.Context) error{succeed, func(context.Context) error { panic("oh") }, func(context.Context) error { runtime.Goexit(); return nil }} {
			apart(func() {
				defer func() { _ = recover() }()
				_ = l.Run(t.Context(), op)
			})
		}
		stands(t, l, 6, 0)
		lease, err := l.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lease.Release(errBoom)
		lease.Release(nil)
		stands(t, l, 7, 0)
	})
}

// LIM-05
func TestRateLimiterDescribesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rated(3, 2, time.Second)
		if got := fmt.Sprint(l.LayerInfo()); got != "{quota rate_limiter [{rate 3} {per 1s} {burst 2} {max_wait 1s}]}" {
			t.Error(got)
		}
		if got := fmt.Sprint(rated(60, 0, 0).LayerInfo().Settings); got != "[{rate 60} {per 1s} {burst 60}]" {
			t.Error(got)
		}
		through(t, l)
		if got := l.String(); got != "rate limiter quota (2 of 2 taken)" || l.Name() != "quota" || l.Snapshot().Limit != 2 {
			t.Error(got, l.Snapshot())
		}
	})
}

func TestRateLimiterMustBeMadeByItsConstructor(t *testing.T) {
	l := new(resilience.RateLimiter)
	if _, err := l.Acquire(t.Context()); err == nil || l.Run(t.Context(), succeed) == nil || buildLayer(l) == nil {
		t.Error("a zero limiter is taken for one")
	}
	stands(t, l, 0, 0)
}
