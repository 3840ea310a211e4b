package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// limitOf tells which layer's limit ended a context, and after how long.
func limitOf(ctx context.Context, began time.Time) string {
	<-ctx.Done()
	limit, ok := context.Cause(ctx).(*resilience.TimeoutError)
	if !ok || ctx.Err() != context.DeadlineExceeded {
		return fmt.Sprintf("%v, %v after %v", ctx.Err(), context.Cause(ctx), time.Since(began))
	}
	return fmt.Sprintf("%s after %v", limit.Layer, time.Since(began))
}

// dueIn tells in how long a context's deadline is.
func dueIn(ctx context.Context, from time.Time) time.Duration {
	d, _ := ctx.Deadline()
	return d.Sub(from)
}

func limit(name string, after time.Duration) resilience.Layer {
	return resilience.Timeout{Name: name, After: after}
}

// PIPE-27, HTTP-06: whichever way limits are nested, a held value ends with the nearest that covers it, and says which.
func TestAHeldValueEndsWithTheNearestLimitThatCoversIt(t *testing.T) {
	const s = time.Second
	retry := resilience.Retry{Backoff: resilience.NoDelay}
	for what, c := range map[string]struct {
		layers   []resilience.Layer
		attempt  time.Duration // the deadline in the attempt
		value    time.Duration // the deadline of the value
		endsWith string
	}{
		"a total":                       {[]resilience.Layer{limit("total", 9*s), retry, limit("attempt", s)}, s, 9 * s, "total after 9s"},
		"a shorter total inside":        {[]resilience.Layer{limit("a", 9*s), limit("b", 5*s), retry, limit("c", s)}, s, 5 * s, "b after 5s"},
		"a shorter total outside":       {[]resilience.Layer{limit("a", 5*s), limit("b", 9*s), retry, limit("c", s)}, s, 5 * s, "a after 5s"},
		"equal totals":                  {[]resilience.Layer{limit("a", 5*s), limit("b", 5*s), retry, limit("c", s)}, s, 5 * s, "a after 5s"},
		"two limits of the attempt":     {[]resilience.Layer{limit("total", 9*s), retry, limit("a", 2*s), limit("b", s)}, s, 9 * s, "total after 9s"},
		"an attempt longer than all":    {[]resilience.Layer{limit("total", 2*s), retry, limit("attempt", 9*s)}, 2 * s, 2 * s, "total after 2s"},
		"an attempt as long as all":     {[]resilience.Layer{limit("total", 2*s), retry, limit("attempt", 2*s)}, 2 * s, 2 * s, "total after 2s"},
		"a gate between":                {[]resilience.Layer{limit("total", 9*s), retry, quietBreaker("db"), limit("attempt", s)}, s, 9 * s, "total after 9s"},
		"a layer of the user's between": {[]resilience.Layer{limit("total", 9*s), retry, passing, limit("attempt", s)}, s, 9 * s, "total after 9s"},
		"a hedge": {[]resilience.Layer{limit("total", 9*s), resilience.Hedge{Delay: time.Minute}, limit("attempt", s)}, s, 9 * s,
			"total after 9s"},
		"the caller's deadline": {[]resilience.Layer{retry, limit("attempt", s)}, s, 20 * s, "context deadline exceeded, context deadline exceeded after 20s"},
		"the caller's before the total's": {[]resilience.Layer{limit("total", 30*s), retry, limit("attempt", s)}, s, 20 * s,
			"context deadline exceeded, context deadline exceeded after 20s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			caller, stop := context.WithTimeout(t.Context(), 20*s)
			defer stop()
			v, err := streams(nil, c.layers...).Do(caller, func(ctx context.Context) (*stream, error) {
				if d := dueIn(ctx, began); d != c.attempt {
					t.Errorf("%s: the attempt is due in %v, want %v", what, d, c.attempt)
				}
				return openStream(ctx)
			})
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if d := dueIn(v.ctx, began); d != c.value {
				t.Errorf("%s: the value is due in %v, want %v", what, d, c.value)
			}
			if got := limitOf(v.ctx, began); got != c.endsWith {
				t.Errorf("%s: it ended by %s, want %s", what, got, c.endsWith)
			}
			v.release(nil)
		})
	}
}

// passing is a layer of the user's that changes nothing.
var passing = typed[*stream](func(next resilience.Next[*stream]) resilience.Next[*stream] { return next })

// PIPE-27: what ends the caller's context ends a held value, and so does the release; each says so.
func TestAHeldValueEndsWithItsCallerAndItsRelease(t *testing.T) {
	errGoneHome := errors.New("gone home")
	caller, leave := context.WithCancelCause(t.Context())
	p := streams(nil, limit("total", time.Hour), resilience.Retry{}, limit("attempt", time.Minute))
	first, _ := p.Do(caller, openStream)
	second, _ := p.Do(caller, openStream)
	child, stop := context.WithCancel(second.ctx)
	defer stop()
	first.release(nil)
	if first.ctx.Err() != context.Canceled || second.ctx.Err() != nil {
		t.Errorf("after the release: %v, the other %v", first.ctx.Err(), second.ctx.Err())
	}
	leave(errGoneHome)
	<-child.Done()
	if second.ctx.Err() != context.Canceled || context.Cause(second.ctx) != errGoneHome || context.Cause(child) != errGoneHome {
		t.Errorf("%v, %v, %v", second.ctx.Err(), context.Cause(second.ctx), context.Cause(child))
	}
	second.release(nil)
}

// PIPE-10, PIPE-27: attempts take what the total leaves them, and the total is what ends the last.
func TestTheTotalEndsTheAttemptThatItLeavesTooLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var dues []time.Duration
		p := streams(nil, limit("total", 5*time.Second), resilience.Retry{Backoff: resilience.NoDelay}, limit("attempt", 2*time.Second))
		_, err := p.Do(t.Context(), func(ctx context.Context) (*stream, error) {
			dues = append(dues, dueIn(ctx, began))
			<-ctx.Done()
			return nil, ctx.Err()
		})
		var limit *resilience.TimeoutError
		if !errors.As(err, &limit) || limit.Layer != "total" || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if fmt.Sprint(dues) != "[2s 4s 5s]" {
			t.Errorf("the attempts were due in %v", dues)
		}
	})
}

// PIPE-27: an attempt that starts when the total has passed already finds its context ended.
func TestAnAttemptAfterTheTotalHasNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {

		gate := &sleeping{counting: counting{name: "slow"}, by: 3 * time.Second}
		p := streams(nil, limit("total", 2*time.Second), resilience.Retry{}, gate, limit("attempt", time.Second))
		_, err := p.Do(t.Context(), func(ctx context.Context) (*stream, error) {
			if ctx.Err() != context.DeadlineExceeded {
				t.Errorf("the attempt's context is at %v", ctx.Err())
			}
			return nil, ctx.Err()
		})
		var limit *resilience.TimeoutError
		if !errors.As(err, &limit) || limit.Layer != "total" {
			t.Error(err)
		}
	})
}

// sleeping is a gate that does not heed the context.
type sleeping struct {
	counting
	by time.Duration
}

func (g *sleeping) Admit(ctx context.Context, call resilience.Call) (resilience.Permit, error) {
	time.Sleep(g.by)
	return g.counting.Admit(ctx, call)
}
