package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// BUS-08, RET-02, OTEL-01: runs beside each other, and after each other inside of them, have numbers of their own; each is
// told when it starts and once when it ends, also after its call, with its call's execution.
func TestEveryRunIsToldOnceWithANumberOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		p := ints(bus, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay}, resilience.Hedge{Delay: 100 * ms},
			resilience.Retry{Name: "inner", MaxAttempts: 2, Backoff: resilience.Constant(30 * ms)})
		seen := make(chan int, 9)
		number := func(op resilience.Operation[int]) resilience.Operation[int] {
			return func(ctx context.Context) (int, error) {
				seen <- resilience.AttemptNumber(ctx)
				return op(ctx)
			}
		}
		failing := number(after(80*ms, 0, errBoom)) // twice in each of the first two runs: 190 and 290 ms
		runs := scripted(failing, failing, failing, failing, number(deaf(time.Minute, 5, nil)), number(after(10*ms, 6, nil)))
		if v, err := p.Do(t.Context(), runs.do); v != 6 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
		finished := heard[events.ExecutionFinished](tape)[0]
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		close(seen)
		var numbers []int
		for n := range seen {
			numbers = append(numbers, n)
		}
		if !slices.Equal(numbers, []int{1, 2, 3, 4, 5, 6}) {
			t.Errorf("the operation saw the numbers %v", numbers)
		}
		var got []string
		for _, e := range heard[events.AttemptStarted](tape) {
			got = append(got, fmt.Sprint(e.Attempt, " ", e.Kind))
		}
		if want := []string{"1 initial", "2 hedge", "3 retry", "4 retry", "5 retry", "6 hedge"}; !slices.Equal(got, want) {
			t.Errorf("started %v, want %v", got, want)
		}
		ends := map[int]events.Outcome{}
		for _, e := range heard[events.AttemptFinished](tape) {
			if _, twice := ends[e.Attempt]; twice || e.Execution != finished.Execution {
				t.Errorf("ended twice, or of another execution: %+v", e)
			}
			ends[e.Attempt] = e.Outcome
		}
		if len(ends) != 6 || ends[5] != events.OutcomeSuccess || ends[6] != events.OutcomeSuccess || ends[4] != events.OutcomeFailure {
			t.Errorf("ended %v", ends)
		}
		if finished.Attempts != 6 || finished.Duration != 400*ms || finished.Working+finished.Backoff != 400*ms || finished.Backoff != 30*ms {
			t.Errorf("finished: %+v", finished)
		}
	})
}

// HDG-01: what a Hedge tells.
func TestAHedgeTellsWhatItStartsAndHowItEnds(t *testing.T) {
	for what, c := range map[string]struct {
		scripts []resilience.Operation[int]
		starts  []string
		settled string
	}{
		"not needed":  {[]resilience.Operation[int]{after(10*ms, 1, nil)}, nil, "1 initial 1 <nil>"},
		"hedge wins":  {[]resilience.Operation[int]{after(time.Hour, 1, nil), after(10*ms, 2, nil)}, []string{"2 100ms"}, "2 hedge 2 <nil>"},
		"first wins":  {[]resilience.Operation[int]{after(250*ms, 1, nil), after(time.Hour, 2, nil)}, []string{"2 100ms", "3 100ms"}, "1 initial 3 <nil>"},
		"at once":     {[]resilience.Operation[int]{after(30*ms, 1, errBoom), after(10*ms, 2, nil)}, []string{"2 30ms"}, "2 hedge 2 <nil>"},
		"all fail":    {[]resilience.Operation[int]{after(30*ms, 1, errBoom)}, []string{"2 30ms", "3 30ms"}, "3 hedge 3 boom"},
		"caller goes": {[]resilience.Operation[int]{after(time.Hour, 1, nil)}, []string{"2 100ms", "3 100ms"}, "0  3 resilience: canceled by the caller: context deadline exceeded"},
	} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			tape := record(bus)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, _ = ints(bus, resilience.Hedge{MaxAttempts: 3, Delay: 100 * ms}).Do(ctx, scripted(c.scripts...).do)
			var starts []string
			for _, e := range heard[events.HedgeStarted](tape) {
				starts = append(starts, fmt.Sprint(e.Attempt, " ", e.Delay))
			}
			settled := heard[events.HedgeSettled](tape)
			if len(settled) != 1 || !slices.Equal(starts, c.starts) {
				t.Fatalf("%s: started %v, settled %v", what, starts, settled)
			}
			e := settled[0]
			kind := ""
			if e.Kind != 0 {
				kind = e.Kind.String()
			}
			if got := fmt.Sprint(e.Attempt, " ", kind, " ", e.Started, " ", e.Err); got != c.settled || e.Source.Layer() != "hedge" || e.Execution == 0 {
				t.Errorf("%s: settled %s, want %s", what, got, c.settled)
			}
		})
	}
}

// BUS-09, RET-02: a refused run has no number, unless another was given one after it.
func TestARunThatIsRefusedTakesNoNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, Bus: bus})
		p := ints(bus, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay}, resilience.Hedge{Delay: 100 * ms}, room)
		runs := scripted(after(time.Second, 0, errBoom))
		_, _ = p.Do(t.Context(), runs.do)
		var numbers []int
		for _, e := range heard[events.AttemptStarted](tape) {
			numbers = append(numbers, e.Attempt)
		}
		if e := heard[events.ExecutionFinished](tape)[0]; !slices.Equal(numbers, []int{1, 2}) || e.Attempts != 2 {
			t.Errorf("attempts %v, finished: %+v", numbers, e)
		}
		for i, e := range heard[events.CallRejected](tape) {
			if e.Attempt != i+2 || e.Execution == 0 {
				t.Errorf("rejected: %+v", e)
			}
		}
	})
}

// BUS-09: the layer that decided the run that decided.
func TestTheExecutionIsExplainedByTheRunThatDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		p := ints(bus, resilience.Hedge{Delay: 100 * ms}, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay})
		runs := scripted(after(time.Hour, 0, nil), returns(0, resilience.Permanent(errBoom)))
		if _, err := p.Do(t.Context(), runs.do); !errors.Is(err, errBoom) {
			t.Error(err)
		}
		e := heard[events.ExecutionFinished](tape)[0]
		if e.Reason != events.ReasonPermanent || e.Layer.Layer() != "retry" || e.Attempts != 2 || e.Working != 100*ms {
			t.Errorf("finished: %+v", e)
		}
	})
}

// BUS-09: waits within the run that decided are the execution's, and so is the backoff before.
func TestWaitsWithinARunAreTold(t *testing.T) {
	for _, layer := range []resilience.Layer{resilience.Hedge{}, resilience.Timeout{Abandon: true}} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			tape := record(bus)
			room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, MaxQueue: 9, MaxWait: time.Minute, Bus: bus})
			lease, err := room.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(300*ms, func() { lease.Release(nil) })
			p := ints(bus, resilience.Retry{MaxAttempts: 2, Backoff: resilience.Constant(50 * ms), If: func(err error) bool { return errors.Is(err, errBoom) }}, layer, room)
			runs := scripted(after(10*ms, 0, resilience.Permanent(errBoom)))
			if _, ok := layer.(resilience.Timeout); ok {
				runs = scripted(after(10*ms, 0, errBoom), after(20*ms, 1, nil))
			}
			_, _ = p.Do(t.Context(), runs.do)
			e := heard[events.ExecutionFinished](tape)[0]
			if started := heard[events.AttemptStarted](tape); len(started) == 2 && (started[1].Delay != 50*ms || e.Backoff != 50*ms || e.Working != 30*ms) {
				t.Errorf("%T: started %+v, finished %+v", layer, started, e)
			}
			if e.Queued != 300*ms || e.Duration != e.Queued+e.Backoff+e.Working {
				t.Errorf("%T: finished: %+v", layer, e)
			}
		})
	}
}

// BUS-02: with nobody listening. The figures are those of the goroutine, its context, the timer and the record.
func TestAllocationsOfAHedge(t *testing.T) {
	quiet := events.NewBus()
	for what, c := range map[string]struct {
		layer resilience.Layer
		most  float64
	}{
		"a hedge that is not needed":      {resilience.Hedge{}, 7},
		"a learned one":                   {resilience.Hedge{Learn: resilience.MustLearnedDelay(resilience.LearnedDelayConfig{})}, 7},
		"a Timeout that could abandon":    {resilience.Timeout{Abandon: true}, 9},
		"a Hedge that is switched off":    {resilience.Hedge{MaxAttempts: 1}, 0},
		"an Abandon that is switched off": {resilience.Timeout{After: -1, Abandon: true}, 0},
	} {
		p := ints(quiet, c.layer)
		ctx := context.Background()
		if got := testing.AllocsPerRun(300, func() { _, _ = p.Do(ctx, one) }); got > c.most {
			t.Errorf("%s: %v allocations, at most %v", what, got, c.most)
		}
	}
}
