package main

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v6"
	"github.com/failsafe-go/failsafe-go"
	fbulkhead "github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	ftimeout "github.com/failsafe-go/failsafe-go/timeout"
	"github.com/sony/gobreaker/v2"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

var stack = workload{
	name: "the whole stack, the context is not looked at", doc: "Bulkhead, total timeout, retry, breaker, timeout of the attempt: a call that succeeds.",
	contestants: stacked(answers),
}

var stackWaiting = workload{
	name: "the whole stack, the context is waited for", doc: "The same, and the operation selects on its context's end.",
	contestants: stacked(waits),
}

func stacked(op func(context.Context) (int, error)) []contestant {
	return []contestant{
		telltale(the(op), func() []resilience.Layer {
			bus := events.NewBus()
			return []resilience.Layer{
				resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", Bus: bus}),
				resilience.Timeout{After: longEnough},
				resilience.Retry{},
				resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureRatio: 0.5, Bus: bus}),
				resilience.Timeout{After: time.Second},
			}
		}),
		failsafeRuns(the(op),
			func() failsafe.Policy[int] { return fbulkhead.New[int](100) },
			func() failsafe.Policy[int] { return ftimeout.New[int](longEnough) },
			func() failsafe.Policy[int] { return retrypolicy.NewWithDefaults[int]() },
			func() failsafe.Policy[int] {
				return circuitbreaker.NewBuilder[int]().WithFailureRateThreshold(0.5, 20, 30*time.Second).Build()
			},
			func() failsafe.Policy[int] { return ftimeout.New[int](time.Second) }),
		{"by hand: channel, context, backoff, gobreaker", peer, func() worker {
			places := make(chan struct{}, 100)
			breaker := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{Interval: 30 * time.Second, BucketPeriod: 3 * time.Second,
				ReadyToTrip: func(c gobreaker.Counts) bool { return c.Requests >= 20 && c.TotalFailures*2 >= c.Requests }})
			return func() func() bool {
				return func() bool {
					v, err := byHand(places, breaker, op)
					return v == answer && err == nil
				}
			}
		}},
	}
}

var errFull = errors.New("full")

// byHand is what one writes without a library for the whole.
func byHand(places chan struct{}, breaker *gobreaker.CircuitBreaker[int], op func(context.Context) (int, error)) (int, error) {
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	default:
		return 0, errFull
	}
	total, cancel := context.WithTimeout(background, longEnough)
	defer cancel()
	return backoff.Retry(total, func() (int, error) {
		return breaker.Execute(func() (int, error) {
			ctx, cancel := context.WithTimeout(total, time.Second)
			defer cancel()
			return op(ctx)
		})
	}, backoff.WithMaxTries(3))
}
