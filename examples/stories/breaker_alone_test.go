package stories_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/telltale-go/telltale/resilience"
)

// A worker needs nothing but a breaker in front of its mail server.
func Example_breakerAlone() {
	ctx := context.Background()
	server := &remote{down: always}
	mail := resilience.MustBreaker(resilience.BreakerConfig{Name: "mail", ConsecutiveFailures: 2})

	for range 4 {
		err := mail.Run(ctx, server.ping)
		fmt.Println(errors.Is(err, resilience.ErrBreakerOpen), errors.Is(err, errDown))
	}
	fmt.Println(server.calls, "calls arrived")
	// Output:
	// false true
	// false true
	// true false
	// true false
	// 2 calls arrived
}

// A call begins in one function and ends in another, as with a message that is acknowledged later: the breaker is asked
// in two steps. Done is for defer: it reads err when the work is over; in `defer lease.Release(err)` it would still be
// nil.
func Example_twoSteps() {
	ctx := context.Background()
	queue := resilience.MustBreaker(resilience.BreakerConfig{Name: "queue", ConsecutiveFailures: 1})

	consume := func(work func(context.Context) error) (err error) {
		lease, err := queue.Acquire(ctx)
		if err != nil {
			return err
		}
		defer lease.Done(&err)
		return work(ctx)
	}

	fmt.Println(consume(func(context.Context) error { return nil }), queue.State())
	fmt.Println(consume(func(context.Context) error { return errDown }), queue.State())
	fmt.Println(errors.Is(consume(nil), resilience.ErrBreakerOpen))
	// Output:
	// <nil> closed
	// no answer open
	// true
}

// A dependency is to be taken out of service by hand, during its maintenance, and brought back.
func Example_openByHand() {
	ctx := context.Background()
	server := &remote{}
	search := resilience.MustBreaker(resilience.BreakerConfig{Name: "search"})

	search.ForceOpen()
	fmt.Println(search.Run(ctx, server.ping))
	search.Reset()
	fmt.Println(search.Run(ctx, server.ping))
	// Output:
	// resilience: circuit breaker search is forced open
	// <nil>
}
