package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

type askedKey struct{}

// HDG-01: where OnHedge declines, what runs goes on alone, and it is asked again for the next.
func TestHedgeStartsOnlyWhatOnHedgeWants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.WithValue(t.Context(), askedKey{}, "mine")
		asked := 0
		runs := scripted(after(10*time.Second, 1, nil), after(500*time.Millisecond, 2, nil))
		p := ints(events.NewBus(), resilience.Hedge{MaxAttempts: 4, Delay: time.Second, OnHedge: func(ctx context.Context) bool {
			if ctx.Value(askedKey{}) != "mine" {
				t.Error("it is not asked with the call's context")
			}
			asked++
			return asked == 2
		}})
		v, err := p.Do(ctx, runs.do)
		if v != 2 || err != nil || fmt.Sprint(runs.startedAt()) != "[0s 2s]" || asked != 2 {
			t.Errorf("got %v, %v, runs started at %v, asked %d times", v, err, runs.startedAt(), asked)
		}
	})
}

// HDG-01, PIPE-13: also when what ran has failed, and when OnHedge panics or ends the goroutine.
func TestHedgeThatIsNotWantedLeavesTheFirstOutcome(t *testing.T) {
	for name, declines := range map[string]func() bool{
		"declines": func() bool { return false },
		"panics":   func() bool { panic("no idea") },
		"exits":    func() bool { runtime.Goexit(); return true },
	} {
		synctest.Test(t, func(t *testing.T) {
			places := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "places", Bus: events.Off()})
			p := ints(events.NewBus(), resilience.Hedge{OnHedge: func(context.Context) bool { return declines() }}, places)
			runs := scripted(after(0, 0, errBoom), after(0, 2, nil))
			err := errors.New("none")
			apart(func() { _, err = p.Do(t.Context(), runs.do) })
			if name != "exits" && err != errBoom || len(runs.startedAt()) != 1 {
				t.Errorf("%s: got %v after %d runs", name, err, len(runs.startedAt()))
			}
			if err := p.Close(t.Context()); err != nil || places.Snapshot().Usage != 0 {
				t.Errorf("%s: %v, %d places are held", name, err, places.Snapshot().Usage)
			}
		})
	}
}
