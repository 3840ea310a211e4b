package resilience

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

// TMO-09: many goroutines that ask at once, while the limit passes, the call returns or the caller leaves.
func TestAContextIsSafeForConcurrentUse(t *testing.T) {
	for i := range 200 {
		ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), valueKey("k"), 1))
		outer := limitedFor(ctx, time.Duration(50+i)*time.Microsecond)
		c := nestedIn(outer, time.Duration(20+i)*time.Microsecond)
		var all sync.WaitGroup
		for k := range 64 {
			all.Go(func() {
				switch k % 8 {
				case 0:
					<-c.Done()
				case 1:
					c.Deadline()
				case 2:
					child, stop := context.WithCancel(c)
					defer stop()
					<-child.Done()
				case 3:
					if c.Value(valueKey("k")) != 1 {
						t.Error("lost its values")
					}
				case 4:
					_ = fmt.Sprintf("%v %+v %s", c, outer, c)
				case 5:
					if i%3 == 0 {
						cancel(errBoomInside)
					}
				case 6:
					if i%2 == 0 && k > 32 {
						c.finish()
						outer.finish()
					}
				}
				consistent(t, c)
			})
		}
		all.Wait()
		c.finish()
		outer.finish()
		if consistent(t, c); c.Err() == nil || outer.Err() == nil {
			t.Fatalf("%v, %v after all", c.Err(), outer.Err())
		}
		cancel(nil)
	}
}

var errBoomInside = errors.New("boom")

// consistent fails if the context's answers contradict one another.
func consistent(t *testing.T, c context.Context) {
	err := c.Err()
	if err == nil {
		return
	}
	cause := context.Cause(c)
	select {
	case <-c.Done():
	default:
		t.Errorf("%v, and is not done", err)
	}
	if again := c.Err(); again != err || context.Cause(c) != cause || cause == nil {
		t.Errorf("first %v, then %v; cause %v", err, again, cause)
	}
	if _, timeout := cause.(*TimeoutError); timeout != (err == context.DeadlineExceeded) {
		t.Errorf("%v because of %v", err, cause)
	}
}

// TMO-09: children cost no goroutine, and when the call returns those that were never canceled are gone with it.
func TestChildrenCostNoGoroutineAndAreNotKept(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context()) // outlives the calls
	defer cancel()
	before := runtime.NumGoroutine()
	var all []*limitedContext
	for i := range 100 {
		outer := limitedFor(ctx, time.Hour)
		c := nestedIn(outer, time.Minute)
		if i%4 == 0 {
			c.Done()
		}
		if i%4 == 1 {
			outer.Done()
		}
		all = append(all, c, outer)
	}
	leaveChildren := func(c *limitedContext) {
		child, stop := context.WithCancel(c)
		_, stopToo := context.WithTimeout(context.WithValue(child, valueKey("k"), 1), time.Hour)
		_, _ = stop, stopToo // never called
		context.AfterFunc(child, func() {})
	}
	for i, c := range all {
		if i%3 != 0 {
			leaveChildren(c)
		}
	}
	if now := runtime.NumGoroutine(); now > before {
		t.Fatalf("%d goroutines, %d before", now, before)
	}
	var gone []weak.Pointer[limitedContext]
	for i, c := range all {
		c.finish()
		if i%3 == 0 || i%3 == 1 {
			leaveChildren(c)
		}
		gone = append(gone, weak.Make(c))
	}
	all = nil
	for wait := 0; runtime.NumGoroutine() > before; wait++ { // the functions of AfterFunc run on their own
		if wait > 1e6 {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		runtime.Gosched()
	}
	runtime.GC()
	runtime.GC()
	for i, c := range gone {
		if c.Value() != nil {
			t.Errorf("context %d is kept", i)
		}
	}
}

// TMO-09: a goroutine that the standard library starts for a context it does not know ends with the call: else the
// bubble would not.
func TestAForeignContextOutsideLeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		foreign := newForeignContext(t.Context())
		for _, asked := range []bool{true, false} {
			outer := limitedFor(foreign, time.Hour)
			c := nestedIn(outer, time.Minute)
			if asked {
				c.Done()
				outer.Done()
			}
			synctest.Wait()
			c.finish()
			outer.finish()
			c.Done()
		}
		c := limitedFor(foreign, time.Hour)
		foreign.cancel()
		if c.Err() != context.Canceled || context.Cause(c) != context.Canceled {
			t.Errorf("%v, %v", c.Err(), context.Cause(c))
		}
		c.finish()
	})
}
