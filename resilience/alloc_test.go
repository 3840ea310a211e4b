package resilience_test

import (
	"context"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// breakerOn and its like make what is shared on the bus of their pipeline, as the budgets count them.
func breakerOn(bus *events.Bus, ratio float64) *resilience.Breaker {
	return resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureRatio: ratio, Bus: bus})
}

func slowCallOn(bus *events.Bus) *resilience.Breaker {
	return resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureRatio: 0.5, SlowCall: time.Second, Bus: bus})
}

// openIn returns a pipeline whose breaker is open, and lets everything through in shadow mode.
func openIn(bus *events.Bus, shadow bool) *resilience.Pipeline[int] {
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Shadow: shadow, Bus: bus})
	db.ForceOpen()
	return ints(bus, db)
}

func bulkheadOn(bus *events.Bus) *resilience.Bulkhead {
	return resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", Bus: bus})
}

func rateLimiterOn(bus *events.Bus, rate int) *resilience.RateLimiter {
	return resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "rate", Rate: rate, Bus: bus})
}

func adaptiveOn(bus *events.Bus) *resilience.AdaptiveLimiter {
	return resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "room", Bus: bus})
}

// refusingRate returns a limiter whose burst is taken.
func refusingRate(bus *events.Bus) *resilience.RateLimiter {
	l := resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "rate", Rate: 1, Per: time.Hour, Bus: bus})
	l.Run(context.Background(), succeed)
	return l
}

func one(context.Context) (int, error) { return 1, nil }

// failsTwice fails two runs of three.
func failsTwice() resilience.Operation[int] {
	n := 0
	return func(context.Context) (int, error) {
		if n++; n%3 != 0 {
			return 0, errBoom
		}
		return 1, nil
	}
}

func withBudget(b *resilience.RetryBudget) resilience.Retry {
	return resilience.Retry{Backoff: resilience.NoDelay, Budget: b}
}

// refusing returns a pipeline whose breaker is open.
func refusing(bus *events.Bus) *resilience.Pipeline[int] {
	db := breakerOn(bus, 0)
	p := ints(bus, db)
	for range 5 {
		p.Do(context.Background(), returns(0, errBoom))
	}
	return p
}

// listened is a bus on which executions and attempts are observed by one who derives no context.
func listened() *events.Bus {
	bus := events.NewBus()
	bus.Execution.Observe(func(ctx context.Context, _ events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
		return ctx, func(events.ExecutionFinished) {}
	})
	bus.Attempt.Observe(func(ctx context.Context, _ events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
		return ctx, func(events.AttemptFinished) {}
	})
	return bus
}

// canonical is the stack of the budgets: a bulkhead, a total timeout, a retry, a windowed breaker and a timeout for
// each attempt.
func canonical(bus *events.Bus) *resilience.Pipeline[int] {
	return ints(bus, bulkheadOn(bus), resilience.Timeout{After: time.Minute}, resilience.Retry{}, breakerOn(bus, 0.5), resilience.Timeout{After: time.Second})
}

// BUS-02, and the budgets of DESIGN.md
func TestAllocationsOfACall(t *testing.T) {
	noDelay := resilience.Retry{Backoff: resilience.NoDelay}
	stack := func(bus *events.Bus, ratio float64) *resilience.Pipeline[int] {
		return ints(bus, bulkheadOn(bus), resilience.Retry{}, breakerOn(bus, ratio))
	}
	heardOfBreakers := events.NewBus()
	heardOfBreakers.BreakerStateChanged.Subscribe(func(context.Context, events.BreakerStateChanged) {})
	quiet := events.NewBus()
	for what, c := range map[string]struct {
		p    *resilience.Pipeline[int]
		op   resilience.Operation[int]
		most float64
	}{
		"an empty pipeline":                                   {ints(quiet), one, 0},
		"bulkhead, retry, consecutive breaker":                {stack(quiet, 0), one, 0},
		"bulkhead, retry, windowed breaker":                   {stack(quiet, 0.5), one, 0},
		"an open breaker":                                     {refusing(quiet), one, 0},
		"a breaker forced open":                               {openIn(quiet, false), one, 0},
		"a breaker open in shadow mode":                       {openIn(quiet, true), one, 0},
		"a breaker with slow calls":                           {ints(quiet, slowCallOn(quiet)), one, 0},
		"two failures, then a success":                        {ints(quiet, noDelay), failsTwice(), 2},
		"a timeout":                                           {ints(quiet, resilience.Timeout{}), one, 1},
		"a timeout, the operation waits":                      {ints(quiet, resilience.Timeout{}), waits, 6},
		"a timeout, a failure":                                {ints(quiet, resilience.Timeout{}), returns(0, errBoom), 1},
		"the canonical stack":                                 {canonical(quiet), one, 2},
		"the canonical stack, the operation waits":            {canonical(quiet), waits, 7},
		"the canonical stack, a listener":                     {canonical(listened()), one, 3},
		"a failure":                                           {ints(quiet), returns(0, errBoom), 0},
		"only breakers' states are heard":                     {stack(heardOfBreakers, 0.5), one, 0},
		"only breakers' states are heard, an open one":        {refusing(heardOfBreakers), one, 0},
		"only breakers' states are heard, after two failures": {ints(heardOfBreakers, noDelay), failsTwice(), 2},
		"a rate limiter":                                      {ints(quiet, rateLimiterOn(quiet, 1e9)), one, 0},
		"an adaptive limiter":                                 {ints(quiet, adaptiveOn(quiet)), one, 0},
		"a rate limiter that refuses":                         {ints(quiet, refusingRate(quiet)), one, 1},
		"a retry":                                             {ints(quiet, resilience.Retry{}), one, 0},
		"a retry that has failed":                             {ints(quiet, resilience.Retry{MaxAttempts: 1}), returns(0, errBoom), 0},
		"a retry, feedback budget":                            {ints(quiet, withBudget(tokens(1000))), one, 0},
		"a retry, replenishing budget":                        {ints(quiet, withBudget(allowance(1000))), one, 0},
		"two failures, feedback budget":                       {ints(quiet, withBudget(tokens(10_000))), failsTwice(), 2},
		"two failures, replenishing budget":                   {ints(quiet, withBudget(allowance(10_000))), failsTwice(), 2},
		"a drained budget":                                    {ints(quiet, withBudget(tokens(1))), returns(0, errBoom), 0},
		"a total limit, two failures":                         {ints(quiet, resilience.Timeout{}, noDelay), failsTwice(), 3},
		"a listener, bulkhead, retry, breaker":                {stack(listened(), 0.5), one, 1},
		"a listener, an open breaker":                         {refusing(listened()), one, 1},
		"a listener, two failures, then a success":            {ints(listened(), noDelay), failsTwice(), 3},
	} {
		ctx := context.Background()
		if got := testing.AllocsPerRun(300, func() { c.p.Do(ctx, c.op) }); got > c.most {
			t.Errorf("%s: %v allocations, at most %v", what, got, c.most)
		}
	}
}
