package main

import (
	"context"

	avast "github.com/avast/retry-go/v5"
	"github.com/cenkalti/backoff/v6"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	sethvargo "github.com/sethvargo/go-retry"

	"github.com/telltale-go/telltale/resilience"
)

var retryFirst = workload{
	name: "retry, the first attempt succeeds", doc: "Three attempts at most, without delay.",
	contestants: retriers(the(answers)),
}

var retryThird = workload{
	name: "retry, two failures, then a success", doc: "Three attempts at most, without delay.",
	contestants: retriers(func() resilience.Operation[int] { return failing() }),
}

func retriers(operation func() resilience.Operation[int]) []contestant {
	with := func(name string, do func() func(op resilience.Operation[int]) (int, error)) contestant {
		return contestant{name, peer, func() worker {
			do := do()
			return func() func() bool {
				op := operation()
				return func() bool { v, err := do(op); return v == answer && err == nil }
			}
		}}
	}
	return []contestant{
		telltale(operation, layers(resilience.Retry{Backoff: resilience.NoDelay})),
		with("failsafe-go", func() func(resilience.Operation[int]) (int, error) {
			executor := failsafe.With(retrypolicy.NewBuilder[int]().WithMaxAttempts(3).WithDelay(0).Build())
			return func(op resilience.Operation[int]) (int, error) {
				return executor.GetWithExecution(func(e failsafe.Execution[int]) (int, error) { return op(e.Context()) })
			}
		}),
		with("cenkalti/backoff", func() func(resilience.Operation[int]) (int, error) {
			return func(op resilience.Operation[int]) (int, error) {
				return backoff.Retry(background, func() (int, error) { return op(background) }, backoff.WithBackOff(&backoff.ZeroBackOff{}), backoff.WithMaxTries(3))
			}
		}),
		with("avast/retry-go", func() func(resilience.Operation[int]) (int, error) {
			r := avast.NewWithData[int](avast.Attempts(3), avast.Delay(0), avast.DelayType(avast.FixedDelay), avast.LastErrorOnly(true))
			return func(op resilience.Operation[int]) (int, error) {
				return r.Do(func() (int, error) { return op(background) })
			}
		}),
		with("sethvargo/go-retry", func() func(resilience.Operation[int]) (int, error) {
			return func(op resilience.Operation[int]) (int, error) {
				none := sethvargo.WithMaxRetries(2, sethvargo.NewConstant(1)) // it keeps the count of one call; no delay is refused
				return sethvargo.DoValue(background, none, func(ctx context.Context) (int, error) {
					v, err := op(ctx)
					if err != nil {
						return v, sethvargo.RetryableError(err)
					}
					return v, nil
				})
			}
		}),
	}
}
