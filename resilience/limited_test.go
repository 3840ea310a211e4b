package resilience

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// limitedFor returns a context as it is inside a Timeout.
func limitedFor(outside context.Context, limit time.Duration) *limitedContext {
	return &limitedContext{outside: outside, began: now(), layer: &timing{limit: limit, cause: &TimeoutError{Layer: "limit", Limit: limit}}}
}

// nestedIn returns one that the same call makes right inside another.
func nestedIn(outside context.Context, limit time.Duration) *limitedContext {
	c := limitedFor(outside, limit)
	c.layer.nested = true
	return c
}

// valueKey is a key of values in these tests.
type valueKey string

// TMO-09: the cause is there for whoever asks first, whatever they ask.
func TestTheCauseOfAnEndNobodyHasAskedFor(t *testing.T) {
	for what, ask := range map[string]func(context.Context) context.Context{
		"the context":                   func(c context.Context) context.Context { return c },
		"a value's":                     func(c context.Context) context.Context { return context.WithValue(c, valueKey("k"), 1) },
		"one that knows of its own end": func(c context.Context) context.Context { return overContext{c} },
		"a child":                       childOf,
		"an attempt's":                  func(c context.Context) context.Context { return &attemptContext{Context: c} },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := limitedFor(t.Context(), time.Second)
			time.Sleep(time.Second)
			if got := context.Cause(ask(c)); got != error(c.layer.cause) {
				t.Errorf("%s: the limit's end has the cause %v", what, got)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			c = limitedFor(ctx, time.Second)
			cancel(errors.New("outside"))
			if got := context.Cause(ask(c)); got.Error() != "outside" {
				t.Errorf("%s: the end outside has the cause %v", what, got)
			}
			c = limitedFor(t.Context(), time.Second)
			c.finish()
			if got := context.Cause(ask(c)); got != context.Canceled {
				t.Errorf("%s: the call's end has the cause %v", what, got)
			}
		})
	}
}

func childOf(ctx context.Context) context.Context {
	child, stop := context.WithCancel(ctx)
	context.AfterFunc(child, stop)
	return child
}

// overContext says by itself that it is over.
type overContext struct{ context.Context }

func (overContext) Err() error { return context.Canceled }

// TMO-09
func TestAContextThatNobodyAsksMakesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), valueKey("k"), 1))
	defer cancel()
	c := limitedFor(ctx, time.Hour)
	key := 1
	if c.Err() != nil || context.Cause(c) != nil || c.Value(valueKey("k")) != 1 || c.Value(&key) != nil || context.WithoutCancel(c).Value(valueKey("k")) != 1 {
		t.Errorf("%v, %v", c.Err(), c.Value(valueKey("k")))
	}
	c.finish()
	if c.isReal.Load() {
		t.Error("a context was made")
	}
}

// TMO-09: after the call it is canceled, and keeps its values and its deadline; the caller's later end is not its.
func TestAContextThatIsUsedAfterTheCallIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(context.WithValue(t.Context(), valueKey("k"), 1), time.Minute, errors.New("the caller's"))
		defer cancel()
		began := time.Now()
		for _, asked := range []bool{false, true} {
			for limit, deadline := range map[time.Duration]time.Duration{time.Second: time.Second, time.Hour: time.Minute} {
				outer := limitedFor(ctx, 2*time.Hour)
				c := nestedIn(outer, limit)
				if asked {
					c.Done()
				}
				c.finish()
				outer.finish()
				defer func() {
					d, ok := c.Deadline()
					child, stop := context.WithCancel(c)
					defer stop()
					<-c.Done()
					<-child.Done()
					if c.Err() != context.Canceled || context.Cause(c) != context.Canceled || child.Err() != context.Canceled || c.Value(valueKey("k")) != 1 ||
						!ok || d.Sub(began) != deadline {
						t.Errorf("asked before %t, limit %v: %v, %v, deadline after %v", asked, limit, c.Err(), context.Cause(c), d.Sub(began))
					}
				}()
			}
		}
		<-ctx.Done()
		time.Sleep(3 * time.Hour)
	})
}

// TMO-09
func TestACallThatReturnsWhileItsContextIsMadeEndsIt(t *testing.T) {
	returning := &returningContext{Context: t.Context()}
	c := limitedFor(returning, time.Hour)
	returning.finish = c.finish
	<-c.Done()
	if c.Err() != context.Canceled {
		t.Errorf("got %v", c.Err())
	}
}

// returningContext has the call return when it is asked for its deadline.
type returningContext struct {
	context.Context
	finish func()
}

func (c *returningContext) Deadline() (time.Time, bool) {
	c.finish()
	return time.Time{}, false
}

// TMO-09: inside one call one timer does for a total and an attempt's limit.
func TestAnEarlierLimitInsideNeedsNoTimerOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			limits [3]time.Duration // from outside
			real   [3]bool          // after the innermost was asked
			after  time.Duration
		}{
			{[3]time.Duration{3 * time.Second, 2 * time.Second, time.Second}, [3]bool{false, false, true}, time.Second},
			{[3]time.Duration{time.Second, 2 * time.Second, 3 * time.Second}, [3]bool{true, true, true}, time.Second},
			{[3]time.Duration{2 * time.Second, 3 * time.Second, time.Second}, [3]bool{false, false, true}, time.Second},
			{[3]time.Duration{2 * time.Second, time.Second, 3 * time.Second}, [3]bool{false, true, true}, time.Second},
			{[3]time.Duration{time.Second, time.Second, time.Second}, [3]bool{true, true, true}, time.Second},
		} {
			began := time.Now()
			all := []*limitedContext{limitedFor(t.Context(), c.limits[0])}
			all = append(all, nestedIn(all[0], c.limits[1]))
			all = append(all, nestedIn(all[1], c.limits[2]))
			d, _ := all[2].Deadline()
			for i, each := range all {
				if each.isReal.Load() {
					t.Errorf("%v: context %d is real because of its deadline", c.limits, i)
				}
			}
			done := all[2].Done()
			for i, each := range all {
				if each.isReal.Load() != c.real[i] {
					t.Errorf("%v: context %d is real: %t", c.limits, i, each.isReal.Load())
				}
			}
			<-done
			cause, _ := context.Cause(all[2]).(*TimeoutError)
			if time.Since(began) != c.after || d.Sub(began) != c.after || cause == nil || cause.Limit != c.after {
				t.Errorf("%v: ended after %v by %v, deadline after %v", c.limits, time.Since(began), cause, d.Sub(began))
			}
			for i, each := range all { // the first of equals is the one outside
				if own := context.Cause(all[2]) == error(each.layer.cause); own != (c.limits[i] == c.after && (i == 0 || c.limits[0] != c.limits[i])) {
					t.Errorf("%v: ended by the limit at %d: %t", c.limits, i, own)
				}
			}
			for i := range all {
				all[len(all)-1-i].finish()
			}
		}
	})
}

// TMO-09: a call that an operation has left running ends when the call around it returns, although its limit is earlier.
func TestACallWithinACallEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer := limitedFor(t.Context(), time.Minute)
		inner := limitedFor(outer, time.Second)
		done := inner.Done()
		outer.finish()
		<-done
		if inner.Err() != context.Canceled {
			t.Errorf("got %v", inner.Err())
		}
		inner.finish()
	})
}

// TMO-09
func TestALimitOfAnyLengthIsALimit(t *testing.T) {
	check := func(t *testing.T, wait func()) {
		outer := limitedFor(t.Context(), math.MaxInt64)
		c := nestedIn(outer, math.MaxInt64)
		if c.Err() != nil || outer.Err() != nil {
			t.Errorf("%v, %v at once", c.Err(), outer.Err())
		}
		if d, ok := c.Deadline(); !ok || time.Until(d) < 1<<62 || c.Err() != nil {
			t.Errorf("deadline in %v, %v", time.Until(d), c.Err())
		}
		c.finish()
		outer.finish()
		before := time.Now()
		c = limitedFor(t.Context(), 1)
		for c.Err() == nil {
			wait()
		}
		if d, _ := c.Deadline(); d.Before(before) || d.After(time.Now()) || c.Err() != context.DeadlineExceeded {
			t.Errorf("deadline %v after it began: %v", d.Sub(before), c.Err())
		}
		c.finish()
	}
	check(t, runtime.Gosched)
	synctest.Test(t, func(t *testing.T) { check(t, func() { time.Sleep(time.Nanosecond) }) })
}

// TMO-09: a deadline is told the same however often, and by the wall clock, too.
func TestADeadlineIsToldOnceAndByTheWallClock(t *testing.T) {
	check := func(t *testing.T) {
		wall := time.Now().Round(0)
		outer := limitedFor(t.Context(), time.Hour)
		inner := nestedIn(outer, time.Minute)
		for range 2 { // before the context is made, and then
			first, has := inner.Deadline()
			again, _ := inner.Deadline()
			if off := first.Round(0).Sub(wall) - time.Minute; !has || first != again || off < 0 || off > time.Second {
				t.Errorf("got %v and %v, %v off", first, again, off)
			}
			inner.Done()
		}
		inner.finish()
		outer.finish()
	}
	check(t)
	synctest.Test(t, check)
}

// TMO-09: the earlier counts, also if the caller's deadline is a wall clock's alone.
func TestADeadlineOutsideThatOnlyTheWallClockTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for outside, ends := range map[time.Duration]time.Duration{time.Second: time.Second, time.Hour: time.Minute} {
			began := time.Now()
			ctx, cancel := context.WithDeadline(t.Context(), began.Round(0).Add(outside))
			defer cancel()
			c := limitedFor(ctx, time.Minute)
			deadline, _ := c.Deadline()
			<-c.Done()
			own := context.Cause(c) == error(c.layer.cause)
			if time.Since(began) != ends || deadline.Sub(began) != ends || own != (ends < outside) || c.Err() != context.DeadlineExceeded {
				t.Errorf("%v outside: ended after %v, deadline after %v, by the limit: %t", outside, time.Since(began), deadline.Sub(began), own)
			}
			c.finish()
		}
	})
}
