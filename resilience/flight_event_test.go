package resilience_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// SFL-05
func TestFollowersTellWhoseResultTheyShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, outside := range callers(t) {
			bus := events.NewBus()
			tape := record(bus)
			p := ints(bus, joined(), resilience.Retry{Backoff: resilience.NoDelay})
			burst(p, context.WithValue(outside, nameKey{}, "leader"), "a", 3, (&slow{value: 3, err: errBoom}).run)
			later(time.Minute)
			var leader uint64
			for i, e := range heard[events.FlightJoined](tape) {
				if i == 0 {
					leader = e.Execution
					if e.Role != events.FlightLeader || e.Leader != leader || leader == 0 || e.LeaderContext != nil {
						t.Errorf("%s: the leader: %+v", what, e)
					}
				} else if e.Role != events.FlightFollower || e.Leader != leader || e.Execution == leader || e.LeaderContext.Value(nameKey{}) != "leader" ||
					e.LeaderContext.Done() != nil {
					t.Errorf("%s: a follower: %+v", what, e)
				}
				if e.Key != "a" || e.Source.Type() != events.TypeSingleflight || e.Attempt != 1 {
					t.Errorf("%s: %+v", what, e)
				}
			}
			for _, e := range heard[events.AttemptFinished](tape) {
				if e.Execution != leader {
					t.Errorf("%s: an attempt of execution %d, the leader is %d", what, e.Execution, leader)
				}
			}
			done := heard[events.ExecutionFinished](tape)
			for _, e := range done {
				attempts, working := 0, time.Duration(0)
				if e.Execution == leader {
					attempts, working = 3, 3*time.Second
				}
				if e.Attempts != attempts || e.Working != working || e.Outcome != events.OutcomeFailure || e.Reason != events.ReasonExhausted ||
					e.Layer.Type() != events.TypeRetry || e.Err != errBoom {
					t.Errorf("%s: finished %+v, the leader is %d", what, e, leader)
				}
			}
			if len(done) != 3 || len(heard[events.FlightJoined](tape)) != 3 || len(heard[events.AttemptFinished](tape)) != 3 {
				t.Errorf("%s: %v", what, tape.names())
			}
		}
	})
}

// SFL-05, FBK-04: what a fallback inside the flight answered is everybody's fallback.
func TestAFallbackInsideAFlightIsSharedAsSuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			bus := events.NewBus()
			tape := record(bus)
			answers := burst(ints(bus, joined(), resilience.FallbackValue(7)), ctx, "a", 3, (&slow{err: errBoom}).run)
			later(time.Minute)
			for i, e := range heard[events.ExecutionFinished](tape) {
				if e.Outcome != events.OutcomeFallback || e.Layer.Type() != events.TypeFallback || answers[i].v != 7 || answers[i].err != nil {
					t.Errorf("%s: %+v, %+v", what, e, answers[i])
				}
			}
			if n := len(heard[events.FallbackUsed](tape)); n != 1 {
				t.Errorf("%s: the fallback was used %d times", what, n)
			}
		}
	})
}

// SFL-05
func TestAnEmptyKeyIsNotJoinedAndWarnsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			bus := events.NewBus()
			tape := record(bus)
			op := &slow{value: 3}
			p := ints(bus, joined())
			answers := burst(p, ctx, "", 3, op.run)
			later(time.Minute)
			warned := heard[events.ConfigWarning](tape)
			if op.runs.Load() != 3 || answers[2].v != 3 || len(heard[events.FlightJoined](tape)) != 0 {
				t.Errorf("%s: %d runs, %+v", what, op.runs.Load(), answers[2])
			}
			if len(warned) != 1 || warned[0].Code != "empty_key" || warned[0].Message == "" || warned[0].Source.Type() != events.TypeSingleflight {
				t.Errorf("%s: warned %+v", what, warned)
			}
			if w := p.Warnings(); len(w) != 1 || w[0].Code != events.WarningEmptyKey || !slices.Equal(w[0].Layers, []int{0}) {
				t.Errorf("%s: Warnings() has %+v", what, w)
			}
		}
	})
}

// SFL-05
func TestTheLayersOwnFunctionFindsTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		flights := resilience.MustSingleflight(resilience.SingleflightConfig{Key: func(ctx context.Context) string {
			name, _ := ctx.Value(nameKey{}).(string)
			if name == "panic" {
				panic("key")
			}
			return name
		}})
		p := ints(bus, flights)
		for name, c := range map[string]struct{ runs, warnings, panics int }{
			"alice": {1, 0, 0}, "": {3, 1, 0}, "panic": {3, 1, 3},
		} {
			op := &slow{value: 3}
			for _, key := range []string{"", "a", "b"} { // the call's key does not count
				burst(p, context.WithValue(t.Context(), nameKey{}, name), key, 1, op.run)
			}
			later(time.Minute)
			if op.runs.Load() != int64(c.runs) {
				t.Errorf("%q: %d runs, want %d", name, op.runs.Load(), c.runs)
			}
		}
		if warned := heard[events.ConfigWarning](tape); len(warned) != 1 {
			t.Errorf("warned %+v", warned)
		}
		panicked := heard[events.CallbackPanicked](tape)
		if len(panicked) != 3 || panicked[0].Callback != "SingleflightConfig.Key" || panicked[0].Value != "key" {
			t.Errorf("panicked %+v", panicked)
		}
	})
}

// SFL-06
func TestOutermostAFlightSharesOnePermitOnePartOfTheRateAndOneSequenceOfRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			bus := events.NewBus()
			tape := record(bus)
			room, rate := roomFor(1), resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "rate", Rate: 1, Per: time.Hour, Bus: events.Off()})
			gate, op := &counting{}, &slow{err: errBoom}
			p := ints(bus, joined(), room, rate, gate, resilience.Retry{Backoff: resilience.NoDelay})
			answers := burst(p, ctx, "a", 50, op.run)
			if room.Snapshot().Usage != 1 {
				t.Errorf("%s: %v", what, room)
			}
			later(time.Minute)
			for _, a := range answers {
				if a.err != errBoom {
					t.Errorf("%s: %+v", what, a)
				}
			}
			if op.runs.Load() != 3 || len(gate.outcomes) != 1 || len(heard[events.RetryScheduled](tape)) != 2 || rate.Snapshot().Usage != 1 {
				t.Errorf("%s: %d runs, admitted %d times, %d retries", what, op.runs.Load(), len(gate.outcomes), len(heard[events.RetryScheduled](tape)))
			}
		}
	})
}

// RET-02, SFL-05: attempts that the layer let pass, since they had no key then, count with those of flights.
func TestAttemptsWithAndWithoutAKeyAreCountedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			bus, asked := events.NewBus(), 0
			tape := record(bus)
			flights := resilience.MustSingleflight(resilience.SingleflightConfig{Key: func(context.Context) string {
				asked++
				return []string{"", "", "a", "a", ""}[asked-1]
			}})
			_, err := ints(bus, resilience.Retry{MaxAttempts: 5, Backoff: resilience.NoDelay}, flights).Do(ctx, func(ctx context.Context) (int, error) {
				if n := resilience.AttemptNumber(ctx); n != asked {
					t.Errorf("%s: the operation is attempt %d, want %d", what, n, asked)
				}
				return 0, errBoom
			})
			var numbers []int
			for _, e := range heard[events.AttemptStarted](tape) {
				numbers = append(numbers, e.Attempt)
			}
			done := heard[events.ExecutionFinished](tape)
			if !slices.Equal(numbers, []int{1, 2, 3, 4, 5}) || len(done) != 1 || done[0].Attempts != 5 || err != errBoom {
				t.Errorf("%s: attempts %d, %+v, %v", what, numbers, done, err)
			}
		}
	})
}
