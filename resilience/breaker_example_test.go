package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

func ExampleBreaker() {
	bus := events.NewBus()
	bus.BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) {
		fmt.Printf("%s: %v -> %v, %d of %d failed\n", e.Source.Layer(), e.From, e.To, e.Failures, e.Calls)
	})
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "payments-db", FailureRatio: 0.5, MinCalls: 4, Cooldown: time.Minute, Bus: bus})
	for i := range 5 {
		err := db.Run(context.Background(), func(context.Context) error {
			if i%2 == 0 {
				return errors.New("connection reset")
			}
			return nil
		})
		if errors.Is(err, resilience.ErrBreakerOpen) {
			fmt.Println("rejected; the operation did not run")
		}
	}
	db.Reset()
	// Output:
	// payments-db: closed -> open, 2 of 4 failed
	// rejected; the operation did not run
	// payments-db: open -> closed, 2 of 4 failed
}

func ExampleBreaker_Acquire() {
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "orders-db", ConsecutiveFailures: 1})
	send := func(ctx context.Context, work func(context.Context) error) error {
		lease, err := db.Acquire(ctx)
		if err != nil {
			return err
		}
		err = work(ctx)
		lease.Release(err)
		return err
	}
	fmt.Println(send(context.Background(), func(context.Context) error { return errors.New("connection reset") }))
	err := send(context.Background(), func(context.Context) error { return nil })
	open := new(resilience.BreakerOpenError)
	fmt.Println(errors.As(err, &open), open.Name, open.State, open.LastFailure)
	// Output:
	// connection reset
	// true orders-db open connection reset
}
