package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

var priorities = []resilience.Priority{resilience.PrioritySheddable, resilience.PriorityLow, resilience.PriorityNormal, resilience.PriorityCritical}

// LIM-09
func TestPriorityComesFromTheContext(t *testing.T) {
	ctx := t.Context()
	if p := resilience.PriorityOf(ctx); p != resilience.PriorityNormal {
		t.Errorf("without any: %v", p)
	}
	for _, p := range priorities {
		if got := resilience.PriorityOf(context.WithoutCancel(resilience.WithPriority(resilience.WithPriority(ctx, -1), p))); got != p {
			t.Errorf("%v, not %v", got, p)
		}
	}
	if low, high := resilience.PriorityOf(resilience.WithPriority(ctx, -100)), resilience.PriorityOf(resilience.WithPriority(ctx, 100)); low !=
		resilience.PrioritySheddable || high != resilience.PriorityCritical {
		t.Errorf("beyond the classes: %v, %v", low, high)
	}
	if got := fmt.Sprint(priorities, resilience.Priority(9)); got != "[sheddable low normal critical] Priority(9)" {
		t.Error(got)
	}
	_, _ = ints(events.NewBus(), resilience.Retry{}, resilience.Timeout{}).Do(resilience.WithPriority(ctx, resilience.PriorityCritical), func(ctx context.Context) (int, error) {
		if p := resilience.PriorityOf(ctx); p != resilience.PriorityCritical {
			t.Errorf("in the operation: %v", p)
		}
		return 0, nil
	})
}

// LIM-09: the higher class first, within one the first that came.
func TestBulkheadServesHigherPrioritiesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulkhead(1, 20, 0)
		lease, _ := b.Acquire(t.Context())
		var order []string
		var wg sync.WaitGroup
		for i := range 8 {
			p := priorities[i%4]
			wg.Go(func() {
				_ = b.Run(resilience.WithPriority(t.Context(), p), func(context.Context) error {
					order = append(order, fmt.Sprint(p, " ", i))
					return nil
				})
			})
			synctest.Wait()
		}
		lease.Release(nil)
		wg.Wait()
		if want := []string{"critical 3", "critical 7", "normal 2", "normal 6", "low 1", "low 5", "sheddable 0", "sheddable 4"}; !slices.Equal(order, want) {
			t.Errorf("served %v", order)
		}
		room(t, b)
	})
}

// LIM-09, LIM-02: when the queue is full, a higher class takes the place of the last that came of the lowest; an equal one
// is refused.
func TestFullQueueShedsTheLowestPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		b := bulkhead(1, 3, 0)
		p := ints(bus, b)
		lease, _ := b.Acquire(t.Context())
		var wg sync.WaitGroup
		var refused, served []string // those served come one at a time; those refused while nobody else moves
		come := func(name string, priority resilience.Priority) {
			wg.Go(func() {
				err := p.Run(resilience.WithPriority(t.Context(), priority), func(context.Context) error {
					served = append(served, name)
					return nil
				})
				if limited := new(resilience.LimitedError); errors.As(err, &limited) {
					refused = append(refused, name+" "+limited.Reason.String())
				}
			})
			synctest.Wait()
		}
		come("low 1", resilience.PriorityLow)
		come("sheddable 1", resilience.PrioritySheddable)
		come("sheddable 2", resilience.PrioritySheddable)
		come("sheddable 3", resilience.PrioritySheddable) // full
		come("normal 1", resilience.PriorityNormal)       // for sheddable 2
		come("low 2", resilience.PriorityLow)             // for sheddable 1
		come("critical 1", resilience.PriorityCritical)   // for low 2
		come("low 3", resilience.PriorityLow)             // full
		if want := []string{"sheddable 3 full", "sheddable 2 shed", "sheddable 1 shed", "low 2 shed", "low 3 full"}; !slices.Equal(refused, want) {
			t.Errorf("refused %q", refused)
		}
		lease.Release(nil)
		wg.Wait()
		if want := []string{"critical 1", "normal 1", "low 1"}; !slices.Equal(served, want) {
			t.Errorf("served %q", served)
		}
		if n := len(heard[events.CallRejected](tape)); n != 5 {
			t.Errorf("%d refusals told", n)
		}
		room(t, b)
	})
}

// LIM-09: lower classes have a smaller share of an adaptive limit, but never none; critical calls a little more.
func TestAdaptiveLimiterShedsLowerPrioritiesFirst(t *testing.T) {
	for limit, want := range map[int][4]int{100: {50, 80, 100, 110}, 10: {5, 8, 10, 11}, 1: {1, 1, 1, 2}} {
		for i, p := range priorities {
			a := resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "db", Initial: limit, Bus: events.NewBus()})
			ctx := resilience.WithPriority(t.Context(), p)
			var reason events.Reason
			n := 0
			for ; n < 200; n++ {
				_, err := a.Acquire(ctx)
				if limited := new(resilience.LimitedError); errors.As(err, &limited) {
					reason = limited.Reason
					break
				}
			}
			shed := events.ReasonFull
			if want[i] < limit {
				shed = events.ReasonShed
			}
			if n != want[i] || reason != shed {
				t.Errorf("limit %d: %d calls of %v, then %v", limit, n, p, reason)
			}
		}
	}
	a := resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "db", Initial: 10, Max: 10, Bus: events.NewBus()})
	n := 0
	for ; n < 20; n++ {
		if _, err := a.Acquire(resilience.WithPriority(t.Context(), resilience.PriorityCritical)); err != nil {
			break
		}
	}
	if n != 10 {
		t.Errorf("%d critical calls, Max is 10", n)
	}
}
