package main

import (
	"context"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/hedgepolicy"
	ftimeout "github.com/failsafe-go/failsafe-go/timeout"
	"golang.org/x/sync/singleflight"
	resenje "resenje.org/singleflight"

	"github.com/telltale-go/telltale/resilience"
)

var timeouts = workload{
	name: "timeout, the context is not looked at", doc: "A call that ends before its limit, and never asks when that is.",
	contestants: timers(answers),
}

var timeoutsWaiting = workload{
	name: "timeout, the context is waited for", doc: "A call that ends before its limit, and selects on its context's end, as network calls do.",
	contestants: timers(waits),
}

func timers(op func(context.Context) (int, error)) []contestant {
	return []contestant{
		telltale(the(op), layers(resilience.Timeout{After: longEnough})),
		simple("context.WithTimeout", peer, func() bool { return withTimeout(op) }),
		failsafeRuns(the(op), func() failsafe.Policy[int] { return ftimeout.New[int](longEnough) }),
	}
}

var flights = workload{
	name: "singleflight, alone", doc: "A call with a key that nobody else makes; its context cannot be canceled.",
	contestants: []contestant{
		{"Telltale", ours, func() worker {
			p := pipeline(resilience.MustSingleflight(resilience.SingleflightConfig{}))
			return func() func() bool {
				return func() bool { v, err := p.DoKey(background, "key", answers); return v == answer && err == nil }
			}
		}},
		{"x/sync/singleflight (cannot be canceled)", peer, func() worker {
			var g singleflight.Group
			return func() func() bool {
				return func() bool {
					v, err, _ := g.Do("key", func() (any, error) { return op(background) })
					return v == answer && err == nil
				}
			}
		}},
		{"resenje/singleflight", peer, func() worker {
			var g resenje.Group[string, int]
			return func() func() bool {
				return func() bool {
					v, _, err := g.Do(background, "key", op)
					return v == answer && err == nil
				}
			}
		}},
	},
}

var hedges = workload{
	name: "hedge, not needed", doc: "A call that answers long before a second would be started.",
	contestants: []contestant{
		telltale(the(answers), layers(resilience.Hedge{Delay: longEnough})),
		failsafed(func() failsafe.Policy[int] { return hedgepolicy.NewWithDelay[int](longEnough) }),
		simple("goroutine, context and timer by hand", peer, func() bool {
			ctx, cancel := context.WithCancel(background)
			defer cancel()
			done := make(chan int, 1)
			go func() { v, _ := op(ctx); done <- v }()
			timer := time.NewTimer(longEnough)
			defer timer.Stop()
			select {
			case v := <-done:
				return v == answer
			case <-timer.C:
				return false
			}
		}),
	},
}
