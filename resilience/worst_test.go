package resilience_test

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-10
func TestDescribeTellsHowManyAttemptsFitAtWorst(t *testing.T) {
	const s = time.Second
	constant := func(attempts int, d time.Duration) resilience.Retry {
		return resilience.Retry{MaxAttempts: attempts, Backoff: resilience.Constant(d)}
	}
	for name, test := range map[string]struct {
		layers layers
		want   int
	}{
		"no layers":                             {nil, 1},
		"no retry":                              {layers{timeout(s)}, 1},
		"no limit":                              {layers{resilience.Retry{}}, 3},
		"no limit at all":                       {layers{resilience.Retry{MaxAttempts: resilience.Unlimited}}, resilience.Unlimited},
		"an attempt's limit alone":              {layers{resilience.Retry{MaxAttempts: 5}, timeout(s)}, 5},
		"a total alone: the first takes it all": {layers{timeout(s), resilience.Retry{}}, 1},
		"all fit":                               {layers{timeout(60 * s), constant(5, s), timeout(s)}, 5},
		"all fit but the last":                  {layers{timeout(5 * s), constant(4, s), timeout(s)}, 3}, // begin at 0, 2 and 4; 6 is too late
		"one begins just before the end":        {layers{timeout(4*s + 1), constant(4, s), timeout(s)}, 3},
		"one would begin at the end":            {layers{timeout(4 * s), constant(4, s), timeout(s)}, 2},
		"a timeout that is off":                 {layers{timeout(-1), constant(4, s), timeout(s)}, 4},
		"jitter at its longest":                 {layers{timeout(4500 * time.Millisecond), resilience.Retry{Backoff: resilience.Constant(s), Jitter: resilience.JitterEqual}, timeout(s)}, 2},
		"full jitter at its longest":            {layers{timeout(4*s + 1), resilience.Retry{Backoff: resilience.Constant(s), Jitter: resilience.JitterFull}, timeout(s)}, 3},
		"exponential":                           {layers{timeout(10 * s), resilience.Retry{MaxAttempts: 9, Backoff: resilience.Exponential{Base: s}, Jitter: resilience.JitterNone}, timeout(s)}, 3}, // 0, 2, 5, 10
		"decorrelated grows threefold":          {layers{timeout(15 * s), resilience.Retry{MaxAttempts: 9, Backoff: resilience.Constant(s), Jitter: resilience.JitterDecorrelated}, timeout(s)}, 3},  // 0, 4, 14, 42
		"MaxDelay":                              {layers{timeout(10 * s), resilience.Retry{MaxAttempts: 9, Backoff: resilience.Exponential{Base: s}, MaxDelay: s, Jitter: resilience.JitterNone}, timeout(s)}, 5},
		"a backoff of the user's is not asked":  {layers{timeout(10 * s), resilience.Retry{MaxAttempts: 50, Backoff: unasked(t)}, timeout(s)}, 10},
		"a delay of the user's is not asked":    {layers{timeout(10 * s), resilience.Retry{MaxAttempts: 50, Delay: func(resilience.FailedAttempt) time.Duration { t.Error("asked"); return 0 }}, timeout(s)}, 10},
		"nested, no limit":                      {layers{constant(3, 0), constant(4, 0)}, 12},
		"nested, no limit at all":               {layers{constant(3, 0), constant(-1, 0), timeout(s)}, resilience.Unlimited},
		"nested, a total":                       {layers{timeout(10 * s), constant(3, 0), constant(4, 0), timeout(s)}, 10},
		"nested, one each":                      {layers{timeout(10 * s), constant(3, 0), timeout(2 * s), constant(4, 0), timeout(s)}, 6},
		"more than is counted":                  {layers{timeout(math.MaxInt64 - 1), constant(-1, 0), timeout(1)}, 1000},
		"far more than is counted":              {layers{timeout(math.MaxInt64 - 1), constant(-1, 0), constant(-1, 0), constant(-1, 0), timeout(1)}, 1000},
		"huge and huge":                         {layers{constant(math.MaxInt32, 0), constant(math.MaxInt32, 0), constant(math.MaxInt32, 0)}, resilience.Unlimited},
		"a hedge, no limit":                     {layers{resilience.Hedge{MaxAttempts: 3}}, 3},
		"a hedge that is off":                   {layers{timeout(9 * s), resilience.Hedge{MaxAttempts: 1, Delay: s}}, 1},
		"a hedge in a total":                    {layers{timeout(3 * s), resilience.Hedge{MaxAttempts: 9, Delay: s}}, 3},
		"a hedge in a retry":                    {layers{timeout(60 * s), constant(3, s), resilience.Hedge{Delay: s}, timeout(5 * s)}, 6},
		"a hedge around a retry":                {layers{timeout(60 * s), resilience.Hedge{Delay: s}, constant(3, s), timeout(s)}, 6},
		"a hedge whose runs fail sooner":        {layers{timeout(3500 * time.Millisecond), resilience.Hedge{MaxAttempts: 9, Delay: 5 * s}, timeout(s)}, 4},
		"a hedge that may learn to be quick":    {layers{timeout(2 * s), resilience.Hedge{MaxAttempts: 9, Learn: resilience.MustLearnedDelay(resilience.LearnedDelayConfig{Min: s / 2})}}, 4},
		"the longest durations, and a hedge":    {layers{timeout(math.MaxInt64 - 1), resilience.Hedge{MaxAttempts: 100, Delay: math.MaxInt64}, timeout(math.MaxInt64)}, 1},
		"the longest durations":                 {layers{timeout(math.MaxInt64), resilience.Retry{MaxDelay: math.MaxInt64, Backoff: resilience.Constant(math.MaxInt64)}, timeout(math.MaxInt64 - 1)}, 3},
	} {
		if got := ints(events.Off(), test.layers...).Describe().AttemptsAtWorst; got != test.want {
			t.Errorf("%s: %d attempts, want %d", name, got, test.want)
		}
	}
}

func unasked(t *testing.T) resilience.Backoff {
	return resilience.BackoffFunc(func(int, time.Duration) time.Duration { t.Error("asked"); return 0 })
}

// PIPE-10: the arithmetic against a run, where every attempt hangs until its limit and every draw is the longest.
func TestAsManyAttemptsBeginAsDescribeTells(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	duration := func() time.Duration { return time.Duration(1+rnd.IntN(2000)) * time.Millisecond }
	for range 300 {
		total, attempt := timeout(duration()*5), timeout(duration())
		retry := resilience.Retry{MaxAttempts: 1 + rnd.IntN(6), Backoff: resilience.Exponential{Base: duration()},
			Jitter: resilience.Jitter(1 + rnd.IntN(4)), MaxDelay: 10 * duration(), Rand: func() float64 { return 1 }}
		runs := 0
		synctest.Test(t, func(t *testing.T) {
			p := ints(events.Off(), total, retry, attempt)
			_ = p.Run(t.Context(), func(ctx context.Context) error {
				runs++
				<-ctx.Done()
				return ctx.Err()
			})
			if want := p.Describe().AttemptsAtWorst; runs != want {
				t.Errorf("%v, %v, %+v: %d attempts began, described are %d", total, attempt, p.Describe().Layers[1], runs, want)
			}
		})
	}
}

// PIPE-10: the same with a hedge inside the retry.
func TestAsManyHedgedAttemptsBeginAsDescribeTells(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	duration := func() time.Duration { return time.Duration(1+rnd.IntN(2000)) * time.Millisecond }
	for range 200 {
		total, attempt := timeout(duration()*5), timeout(duration())
		retry := resilience.Retry{MaxAttempts: 1 + rnd.IntN(3), Backoff: resilience.Constant(duration()), Jitter: resilience.JitterNone}
		hedge := resilience.Hedge{MaxAttempts: 1 + rnd.IntN(4), Delay: duration()}
		var runs atomic.Int64
		synctest.Test(t, func(t *testing.T) {
			p := ints(events.Off(), total, retry, hedge, attempt)
			_ = p.Run(t.Context(), func(ctx context.Context) error {
				runs.Add(1)
				<-ctx.Done()
				return ctx.Err()
			})
			if want := p.Describe().AttemptsAtWorst; int(runs.Load()) != want {
				t.Errorf("%v, %v, %v, %v: %d attempts began, described are %d", total, retry, hedge, attempt, runs.Load(), want)
			}
		})
	}
}
