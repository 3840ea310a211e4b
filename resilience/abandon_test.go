package resilience_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// TMO-06
func TestAbandonReturnsAtTheLimitAndLetsTheOperationFinishBehind(t *testing.T) {
	for _, hold := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			tape := record(bus)
			outside, inside := &counting{name: "outside"}, &counting{name: "inside"}
			p := values(bus, hold, outside, resilience.Timeout{After: time.Second, Abandon: true}, inside)
			late := &closable{}
			began := time.Now()
			v, err := p.Do(t.Context(), deaf(10*time.Second, late, nil))
			var e *resilience.TimeoutError
			if took := time.Since(began); took != time.Second || v != nil || !errors.As(err, &e) || e.Limit != time.Second || e.Layer != "timeout" {
				t.Errorf("hold %v: %v, %v after %v", hold, v, err, took)
			}
			if outside.out() != 0 || inside.out() != 1 || p.Goroutines() != 1 {
				t.Errorf("hold %v: %d permits are out outside, %d inside, %d goroutines", hold, outside.out(), inside.out(), p.Goroutines())
			}
			if n := len(heard[events.LateResult](tape)); n != 0 {
				t.Errorf("hold %v: %d late results before there are any", hold, n)
			}
			if err := p.Close(t.Context()); err != nil || time.Since(began) != 10*time.Second {
				t.Errorf("hold %v: Close returned %v after %v", hold, err, time.Since(began))
			}
			if late.closed != 1 || inside.out() != 0 || inside.kinds()[0] != resilience.Succeeded || outside.kinds()[0] != resilience.Failed {
				t.Errorf("hold %v: the value was closed %d times; inside %v, outside %v", hold, late.closed, inside.kinds(), outside.kinds())
			}
			timedOut, results := heard[events.TimedOut](tape), heard[events.LateResult](tape)
			finished := heard[events.ExecutionFinished](tape)[0]
			if len(timedOut) != 1 || len(results) != 1 || results[0].Outcome != events.OutcomeSuccess || results[0].Execution != finished.Execution ||
				results[0].Source != timedOut[0].Source || finished.Outcome != events.OutcomeTimeout || finished.Working != time.Second {
				t.Errorf("hold %v: timed out %+v, late %+v, finished %+v", hold, timedOut, results, finished)
			}
		})
	}
}

// TMO-06: in time it is a Timeout as any other.
func TestAbandonReturnsWhatComesInTime(t *testing.T) {
	for _, hold := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := values(events.NewBus(), hold, resilience.Retry{Backoff: resilience.NoDelay}, resilience.Timeout{After: time.Second, Abandon: true})
			good, bad := &closable{}, &closable{bad: true}
			runs := scripted(after(10*ms, bad, nil), after[*closable](10*ms, nil, errBoom), after(10*ms, good, nil))
			v, err := p.Do(t.Context(), runs.do)
			if synctest.Wait(); v != good || err != nil || good.closed != 0 || bad.closed != 1 || p.Goroutines() != 0 {
				t.Errorf("hold %v: %v, %v; closed %d and %d times", hold, v, err, good.closed, bad.closed)
			}
			if v.release != nil {
				v.release(nil)
			}
		})
	}
}

// TMO-06: the context is that of any Timeout, and the caller's end counts before the limit does.
func TestAbandonReturnsWhenTheCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		ctx, cancel := context.WithTimeout(t.Context(), 300*ms)
		defer cancel()
		p := ints(bus, resilience.Timeout{After: time.Second, Abandon: true})
		var cause error
		began := time.Now()
		_, err := p.Do(ctx, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			time.Sleep(time.Minute)
			return 0, errBoom
		})
		if took := time.Since(began); took != 300*ms || resilience.KindOf(err) != resilience.KindCanceled || errors.Is(err, resilience.ErrTimeout) {
			t.Errorf("%v after %v", err, took)
		}
		if err := p.Close(t.Context()); err != nil || cause != context.DeadlineExceeded {
			t.Errorf("%v; the operation's cause was %v", err, cause)
		}
		if n := len(heard[events.TimedOut](tape)); n != 0 {
			t.Errorf("%d timeouts were told", n)
		}
	})
}

// TMO-06: the bound.
func TestWhileAsManyAreAbandonedAsMayBeCallsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		p := ints(bus, resilience.Timeout{Name: "slow", After: time.Second, Abandon: true, MaxAbandoned: 2})
		began := time.Now()
		took := make(chan time.Duration, 3)
		for range 3 { // as many as find no bound when they start
			go func() {
				_, err := p.Do(t.Context(), deaf(10*time.Second, 1, nil))
				if d := time.Since(began); (d == time.Second) != errors.Is(err, resilience.ErrTimeout) {
					t.Errorf("%v after %v", err, d)
				}
				took <- time.Since(began)
			}()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := len(took); n != 2 || p.Goroutines() != 3 {
			t.Errorf("%d calls have returned, want 2: the third finds no place, and waits", n)
		}
		runs := scripted(one)
		_, err := p.Do(t.Context(), runs.do)
		var e *resilience.LimitedError
		if !errors.As(err, &e) || e.Layer != "slow" || e.Reason != events.ReasonFull || len(runs.startedAt()) != 0 {
			t.Errorf("got %v after %d runs, want a refusal", err, len(runs.startedAt()))
		}
		if rejected := heard[events.CallRejected](tape); len(rejected) != 1 || rejected[0].Source.Layer() != "slow" {
			t.Errorf("rejections told: %+v", rejected)
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if v, err := p.Do(t.Context(), one); v != 1 || err != nil || len(took) != 3 {
			t.Errorf("when they have ended: %d, %v", v, err)
		}
		// TMO-05: the third's value came late, and was delivered.
		if n := len(heard[events.LateResult](tape)); n != 3 {
			t.Errorf("%d late results, want those of the two and the third's", n)
		}
	})
}

// TMO-06, HDG-08, PIPE-13
func TestALatePanicOfAnAbandonedOperationIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		p := ints(bus, resilience.Timeout{After: time.Second, Abandon: true, MaxAbandoned: 1})
		for i, op := range []resilience.Operation[int]{explode, goexit} {
			_, err := p.Do(t.Context(), func(ctx context.Context) (int, error) {
				time.Sleep(time.Minute)
				return op(ctx)
			})
			time.Sleep(time.Hour)
			if !errors.Is(err, resilience.ErrTimeout) || p.Goroutines() != 0 {
				t.Errorf("%d: %v, %d goroutines", i, err, p.Goroutines())
			}
		}
		told := heard[events.CallbackPanicked](tape)
		if len(told) != 1 || told[0].Value != errBoom || told[0].Callback != "operation" || told[0].Source.Type() != events.TypeTimeout {
			t.Errorf("published %+v", told)
		}
		if n := len(heard[events.LateResult](tape)); n != 2 {
			t.Errorf("%d late results", n)
		}
		if v, err := p.Do(t.Context(), one); v != 1 || err != nil {
			t.Errorf("the next call: %d, %v", v, err)
		}
	})
}

// TMO-06, TMO-07: a Retry goes on after an abandoned attempt, whose numbers stay its own.
func TestARetryGoesOnAfterAnAbandonedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		p := ints(bus, resilience.Timeout{After: time.Minute}, resilience.Retry{Backoff: resilience.NoDelay}, resilience.Timeout{After: time.Second, Abandon: true},
			resilience.Timeout{After: 10 * time.Second})
		runs := scripted(deaf(time.Hour, 1, nil), deaf(10*ms, 2, nil))
		began := time.Now()
		v, err := p.Do(t.Context(), runs.do)
		if took := time.Since(began); v != 2 || err != nil || took != 1010*ms {
			t.Errorf("%d, %v after %v", v, err, took)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		ends := map[int]events.AttemptFinished{}
		for _, e := range heard[events.AttemptFinished](tape) {
			ends[e.Attempt] = e
		}
		if len(ends) != 2 || ends[1].Kind != events.AttemptInitial || ends[1].Duration != time.Hour || ends[2].Kind != events.AttemptRetry {
			t.Errorf("attempts ended %+v", ends)
		}
		if e := heard[events.ExecutionFinished](tape)[0]; e.Attempts != 2 || e.Working != 1010*ms {
			t.Errorf("finished: %+v", e)
		}
	})
}

// TMO-06: who ends the goroutine of an abandoned operation, in Discard or a handler, leaves nothing behind.
func TestGoexitOfAnAbandonedOperationsEndLeavesNothingBehind(t *testing.T) {
	for _, where := range []string{"Discard", "LateResult"} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			gate := &counting{name: "gate"}
			discarded := 0
			bus.LateResult.Subscribe(func(ctx context.Context, _ events.LateResult) {
				if where == "LateResult" {
					_, _ = goexit(ctx)
				}
			})
			p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus,
				Layers: []resilience.Layer{resilience.Timeout{After: time.Second, Abandon: true, MaxAbandoned: 1}, gate},
				Hold:   func(v int, _ resilience.Held) int { return v },
				Discard: func(int) error {
					if discarded++; where == "Discard" {
						_, _ = goexit(t.Context())
					}
					return nil
				}})
			for range 3 {
				_, err := p.Do(t.Context(), deaf(time.Minute, 1, nil))
				time.Sleep(time.Hour)
				if !errors.Is(err, resilience.ErrTimeout) || gate.out() != 0 || p.Goroutines() != 0 {
					t.Errorf("%s: %v, %d permits are out, %d goroutines", where, err, gate.out(), p.Goroutines())
				}
			}
			if discarded != 3 {
				t.Errorf("%s: discarded %d values of 3", where, discarded)
			}
		})
	}
}
