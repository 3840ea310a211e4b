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

// outlives makes a pipeline with one of everything, and uses it.
type outlives struct {
	bus  *events.Bus
	db   *resilience.Breaker
	room *resilience.Bulkhead
	p    *resilience.Pipeline[int]
}

func newOutlives() *outlives {
	o := &outlives{bus: events.NewBus()}
	o.db = resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureRatio: 0.5, MinCalls: 4, Cooldown: time.Minute, Bus: o.bus})
	o.room = resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, MaxQueue: 4, MaxWait: time.Hour, Bus: o.bus})
	o.p = ints(o.bus, resilience.Timeout{After: time.Hour}, o.room, resilience.Retry{MaxAttempts: 2, Backoff: resilience.Constant(time.Second), RetryRejections: true},
		o.db, resilience.Timeout{After: time.Second})
	return o
}

// use waits in a queue, in a backoff, for a timeout and for a cooldown, and opens and closes the breaker.
func (o *outlives) use(t *testing.T, when string) {
	o.db.Reset()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if err := o.p.Run(t.Context(), func(context.Context) error { time.Sleep(10 * time.Millisecond); return nil }); err != nil {
				t.Errorf("%s, queued: %v", when, err)
			}
		})
	}
	all.Wait()
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	if err := o.p.Run(t.Context(), hang); !errors.Is(err, resilience.ErrTimeout) {
		t.Errorf("%s, hanging: %v", when, err)
	}
	for range 4 {
		o.p.Run(t.Context(), fail)
	}
	if s := o.db.Snapshot(); s.State != events.StateOpen || s.Spent[events.StateOpen] < 0 {
		t.Errorf("%s: the breaker is %+v", when, s)
	}
	time.Sleep(time.Minute)
	if err := o.p.Run(t.Context(), succeed); err != nil || o.db.State() != events.StateClosed {
		t.Errorf("%s, after the cooldown: %v, %v", when, err, o.db.State())
	}
	if s := o.room.Snapshot(); s.Usage != 0 || s.Queued != 0 {
		t.Errorf("%s: left behind %+v", when, s)
	}
}

// PIPE-26
func TestWhatWasMadeOutsideABubbleServesInSeveral(t *testing.T) {
	o := newOutlives()
	buffered := events.NewBuffered(o.bus, 1<<16, func(context.Context, events.Event) {})
	if err := o.p.Run(t.Context(), succeed); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"first", "second", "third"} {
		synctest.Test(t, func(t *testing.T) {
			if when == "second" { // later than the others by years
				time.Sleep(10 * 365 * 24 * time.Hour)
			}
			o.use(t, when)
			if when == "third" { // leaves it open behind
				for range 4 {
					o.p.Run(t.Context(), fail)
				}
			}
		})
		o.db.Reset()
		if err := o.p.Run(t.Context(), succeed); err != nil {
			t.Errorf("outside, after the %s: %v", when, err)
		}
	}
	if err := buffered.Close(t.Context()); err != nil || buffered.Dropped() != 0 {
		t.Errorf("%v, %d events dropped", err, buffered.Dropped())
	}
}

// PIPE-26: what a bubble leaves behind may be forgotten, but does not stay for ever.
func TestABreakerOpenedInABubbleLetsCallsThroughElsewhere(t *testing.T) {
	for _, later := range []time.Duration{0, 10 * 365 * 24 * time.Hour} {
		o := newOutlives()
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(later)
			for range 4 {
				o.p.Run(t.Context(), fail)
			}
			if o.db.State() != events.StateOpen {
				t.Fatalf("the breaker is %v", o.db.State())
			}
		})
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(2 * time.Minute)
			if err := o.p.Run(t.Context(), succeed); err != nil {
				t.Errorf("opened %v later: in another bubble, after its cooldown: %v", later, err)
			}
		})
	}
}

// PIPE-26: made and used first in a bubble.
func TestWhatWasMadeInABubbleServesOutside(t *testing.T) {
	var o *outlives
	synctest.Test(t, func(t *testing.T) { o = newOutlives(); o.use(t, "inside") })
	if err := o.p.Run(t.Context(), succeed); err != nil {
		t.Errorf("outside: %v", err)
	}
	synctest.Test(t, func(t *testing.T) { o.use(t, "in another") })
	synctest.Test(t, func(t *testing.T) {
		if _, err := resilience.Do(t.Context(), returns(1, nil), resilience.Timeout{}); err != nil {
			t.Error(err)
		}
	})
	if _, err := resilience.Do(t.Context(), returns(1, nil), resilience.Timeout{}); err != nil {
		t.Error(err)
	}
}
