package stories_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// A search service does not fail, it hangs. Callers that wait are callers that cannot do anything else: the breaker opens
// although not one call has ended, let alone failed.
func TestSearchThatHangsIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		search := resilience.MustBreaker(resilience.BreakerConfig{
			Name: "search", SlowCall: 2 * time.Second, SlowRatio: 0.5, MinCalls: 10, Bus: events.NewBus(),
		})
		ctx, shutDown := context.WithCancel(t.Context())
		for range 10 {
			go func() {
				_ = search.Run(ctx, func(ctx context.Context) error { _, err := hang(ctx); return err })
			}()
		}
		time.Sleep(3 * time.Second)
		if err := search.Run(ctx, (&remote{}).ping); !errors.Is(err, resilience.ErrBreakerOpen) {
			t.Errorf("the eleventh caller waits with the others: %v", err)
		}
		shutDown()
		synctest.Wait()
	})
}

// A team wants to know what a breaker would do before it does it: it runs in shadow for a week.
func Example_shadowBreaker() {
	ctx := context.Background()
	bus := events.NewBus()
	bus.BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) {
		fmt.Println("would be", e.To, "for", e.Reason)
	})
	bus.ShadowRejected.Subscribe(func(context.Context, events.ShadowRejected) { fmt.Println("would refuse") })

	stock := resilience.MustBreaker(resilience.BreakerConfig{Name: "stock", FailureRatio: 0.5, WindowCalls: 4, Shadow: true, Bus: bus})
	service := &remote{down: 2}
	for range 5 {
		_ = stock.Run(ctx, service.ping)
	}
	fmt.Println(service.calls, "calls arrived;", stock.State())
	// Output:
	// would be open for ratio
	// would refuse
	// 5 calls arrived; open
}

// A migration makes a dependency fail on purpose; for as long as that lasts its breaker is to keep out of the way.
func Example_disableBreaker() {
	ctx := context.Background()
	ledger := resilience.MustBreaker(resilience.BreakerConfig{Name: "ledger", ConsecutiveFailures: 2, Bus: events.NewBus()})
	service := &remote{down: 5}

	ledger.Disable()
	for range 5 {
		_ = ledger.Run(ctx, service.ping)
	}
	fmt.Println(service.calls, "calls arrived;", ledger.State())
	ledger.Enable()
	fmt.Println(ledger.Run(ctx, service.ping), ledger.State())
	// Output:
	// 5 calls arrived; disabled
	// <nil> closed
}
