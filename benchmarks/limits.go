package main

import (
	"time"

	"github.com/failsafe-go/failsafe-go"
	fbulkhead "github.com/failsafe-go/failsafe-go/bulkhead"
	fratelimiter "github.com/failsafe-go/failsafe-go/ratelimiter"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

var bulkheads = workload{
	name: "bulkhead", doc: "A call for which there is room, and its leaving.",
	contestants: []contestant{
		telltale(the(answers), func() []resilience.Layer {
			return []resilience.Layer{resilience.MustBulkhead(resilience.BulkheadConfig{Name: "b", Bus: events.NewBus()})}
		}),
		{"x/sync/semaphore", peer, func() worker {
			s := semaphore.NewWeighted(100)
			return func() func() bool {
				return func() bool {
					if !s.TryAcquire(1) {
						return false
					}
					defer s.Release(1)
					v, err := op(background)
					return v == answer && err == nil
				}
			}
		}},
		failsafed(func() failsafe.Policy[int] { return fbulkhead.New[int](100) }),
	},
}

var rateLimiters = workload{
	name: "rate limiter", doc: "A call within the rate.",
	contestants: []contestant{
		telltale(the(answers), func() []resilience.Layer {
			return []resilience.Layer{resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "r", Rate: 1e9, Burst: 1e9, Bus: events.NewBus()})}
		}),
		{"x/time/rate", peer, func() worker {
			l := rate.NewLimiter(1e9, 1e9)
			return func() func() bool {
				return func() bool {
					if !l.Allow() {
						return false
					}
					v, err := op(background)
					return v == answer && err == nil
				}
			}
		}},
		failsafed(func() failsafe.Policy[int] { return fratelimiter.NewBursty[int](1e9, time.Second) }),
	},
}

// failsafed is failsafe-go's executor with policies, the outermost first.
func failsafed(policies ...func() failsafe.Policy[int]) contestant {
	return failsafeRuns(the(answers), policies...)
}

func failsafeRuns(operation func() resilience.Operation[int], policies ...func() failsafe.Policy[int]) contestant {
	return contestant{"failsafe-go", peer, func() worker {
		all := make([]failsafe.Policy[int], len(policies))
		for i, make := range policies {
			all[i] = make()
		}
		executor := failsafe.With(all...)
		return func() func() bool {
			op := operation()
			return func() bool {
				v, err := executor.WithContext(background).GetWithExecution(func(e failsafe.Execution[int]) (int, error) { return op(e.Context()) })
				return v == answer && err == nil
			}
		}
	}}
}
