package main

import (
	"context"
	"errors"
	"time"

	eapache "github.com/eapache/go-resiliency/breaker"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/sony/gobreaker/v2"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

var breakerConsecutive = workload{
	name: "breaker, closed, failures in a row", doc: "A success through a closed breaker that opens after 5 failures in a row.",
	contestants: []contestant{
		telltale(the(answers), func() []resilience.Layer { return []resilience.Layer{consecutive()} }),
		gobreakers(gobreaker.Settings{ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 5 }}),
		failsafeBreaker(func() circuitbreaker.CircuitBreaker[int] {
			return circuitbreaker.NewBuilder[int]().WithFailureThreshold(5).Build()
		}),
		{"eapache/go-resiliency", peer, func() worker {
			b := eapache.New(5, 1, time.Minute)
			return func() func() bool {
				return func() (ok bool) {
					err := b.Run(func() error { v, err := op(background); ok = v == answer; return err })
					return ok && err == nil
				}
			}
		}},
	},
}

var breakerWindowed = workload{
	name: "breaker, closed, failure ratio in a time window", doc: "A success through a closed breaker that opens at half of 20 calls in 30 s, which it forgets in tenths.",
	contestants: []contestant{
		telltale(the(answers), func() []resilience.Layer {
			return []resilience.Layer{resilience.MustBreaker(resilience.BreakerConfig{Name: "b", FailureRatio: 0.5, Bus: events.NewBus()})}
		}),
		gobreakers(gobreaker.Settings{Interval: 30 * time.Second, BucketPeriod: 3 * time.Second,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.Requests >= 20 && c.TotalFailures*2 >= c.Requests }}),
		failsafeBreaker(func() circuitbreaker.CircuitBreaker[int] {
			return circuitbreaker.NewBuilder[int]().WithFailureRateThreshold(0.5, 20, 30*time.Second).Build()
		}),
	},
}

func consecutive() *resilience.Breaker {
	return resilience.MustBreaker(resilience.BreakerConfig{Name: "b", Bus: events.NewBus()})
}

func gobreakers(s gobreaker.Settings) contestant {
	return contestant{"sony/gobreaker", peer, func() worker {
		b := gobreaker.NewCircuitBreaker[int](s)
		return func() func() bool {
			return func() bool {
				v, err := b.Execute(func() (int, error) { return op(background) })
				return v == answer && err == nil
			}
		}
	}}
}

func failsafeBreaker(build func() circuitbreaker.CircuitBreaker[int]) contestant {
	return contestant{"failsafe-go", peer, func() worker {
		executor := failsafe.With(build())
		return func() func() bool {
			return func() bool {
				v, err := executor.GetWithExecution(func(e failsafe.Execution[int]) (int, error) { return op(e.Context()) })
				return v == answer && err == nil
			}
		}
	}}
}

var breakerOpen = workload{
	name: "breaker, open", doc: "A call that an open breaker refuses.",
	contestants: []contestant{
		{"Telltale", ours, func() worker {
			b := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Cooldown: time.Hour, Bus: events.NewBus()})
			p := pipeline(b)
			_, _ = p.Do(background, func(context.Context) (int, error) { return 0, errDown })
			return func() func() bool {
				return func() bool { _, err := p.Do(background, answers); return errors.Is(err, resilience.ErrBreakerOpen) }
			}
		}},
		{"sony/gobreaker", peer, func() worker {
			b := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{Timeout: time.Hour, ReadyToTrip: func(gobreaker.Counts) bool { return true }})
			_, _ = b.Execute(func() (int, error) { return 0, errDown })
			return func() func() bool {
				return func() bool {
					_, err := b.Execute(func() (int, error) { return op(background) })
					return errors.Is(err, gobreaker.ErrOpenState)
				}
			}
		}},
		{"failsafe-go", peer, func() worker {
			b := circuitbreaker.NewBuilder[int]().WithDelay(time.Hour).Build()
			b.Open()
			executor := failsafe.With(b)
			return func() func() bool {
				return func() bool {
					_, err := executor.GetWithExecution(func(e failsafe.Execution[int]) (int, error) { return op(e.Context()) })
					return errors.Is(err, circuitbreaker.ErrOpen)
				}
			}
		}},
	},
}
