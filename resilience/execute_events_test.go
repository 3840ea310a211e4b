package resilience_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// pairs counts, by execution and attempt, what has started and not finished.
func pairs(bus *events.Bus) func() string {
	open, finished := map[string]int{}, map[string]int{}
	end := func(what string, m events.Meta) {
		open[what]--
		finished[fmt.Sprint(what, m.Execution, m.Attempt)]++
	}
	bus.Execution.Observe(func(context.Context, events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
		open["execution"]++
		return nil, func(e events.ExecutionFinished) { end("execution", e.Meta) }
	})
	bus.Attempt.Observe(func(context.Context, events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
		open["attempt"]++
		return nil, func(e events.AttemptFinished) { end("attempt", e.Meta) }
	})
	return func() string {
		for what, n := range finished {
			if n != 1 {
				return fmt.Sprintf("%s finished %d times", what, n)
			}
		}
		if open["execution"] != 0 || open["attempt"] != 0 {
			return fmt.Sprint("left open: ", open)
		}
		return ""
	}
}

// BUS-08
func TestEveryStartIsFinishedOnceHoweverTheCallEnds(t *testing.T) {
	ends := map[string]func(ctx context.Context, cancel func()) error{
		"success":   func(context.Context, func()) error { return nil },
		"failure":   func(context.Context, func()) error { return errBoom },
		"panic":     func(context.Context, func()) error { panic("op") },
		"goexit":    func(context.Context, func()) error { runtime.Goexit(); return nil },
		"cancelled": func(ctx context.Context, cancel func()) error { cancel(); return ctx.Err() },
		"timeout":   func(ctx context.Context, _ func()) error { <-ctx.Done(); return ctx.Err() },
	}
	for what, op := range ends {
		for _, recovering := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				bus := events.NewBus()
				broken := pairs(bus)
				p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus, Layers: everyLayer(), RecoverPanics: recovering})
				for range 5 {
					ctx, cancel := context.WithCancel(t.Context())
					survive(func() { p.Run(ctx, func(ctx context.Context) error { return op(ctx, cancel) }) })
					cancel()
				}
				if says := broken(); says != "" {
					t.Errorf("%s: %s", what, says)
				}
			})
		}
	}
}

// steps is an operation whose runs end as told.
func steps(ends ...func(context.Context) error) func(context.Context) error {
	run := 0
	return func(ctx context.Context) error {
		run++
		return ends[run-1](ctx)
	}
}

// work takes a second, unless its context ends before, and returns err.
func work(err error) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(time.Second):
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// busy is a bulkhead whose only place is free in three seconds.
func busy(wait time.Duration) resilience.Layer {
	room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, MaxQueue: 1, MaxWait: wait, Bus: events.Off()})
	lease, _ := room.Acquire(context.Background())
	time.AfterFunc(3*time.Second, func() { lease.Release(nil) })
	return room
}

// explained is what ExecutionFinished tells of a call; times are in seconds.
type explained struct {
	outcome                    events.Outcome
	reason                     events.Reason
	decider                    string
	attempts                   int
	took, working, wait, queue time.Duration
}

// BUS-09
func TestOneEventExplainsTheCall(t *testing.T) {
	retry := resilience.Retry{Backoff: resilience.Constant(2 * time.Second), Jitter: resilience.JitterNone}
	patient := resilience.Retry{Backoff: resilience.Constant(5 * time.Second), IgnoreDeadline: true}
	hasty := resilience.Retry{Backoff: resilience.Constant(5 * time.Second)}
	total := func(after time.Duration) resilience.Layer { return resilience.Timeout{Name: "total", After: after} }
	forced := func() resilience.Layer { b := quietBreaker("db"); b.ForceOpen(); return b }
	again := func() resilience.Layer { return twice(func(_, second error) error { return second }) }
	type layers = []resilience.Layer
	for what, c := range map[string]struct {
		layers func() layers
		op     func(context.Context) error
		want   explained
	}{
		"success":   {func() layers { return nil }, work(nil), explained{events.OutcomeSuccess, 0, "", 1, 1, 1, 0, 0}},
		"failure":   {func() layers { return nil }, work(errBoom), explained{events.OutcomeFailure, 0, "", 1, 1, 1, 0, 0}},
		"recovered": {func() layers { return layers{retry} }, steps(work(errBoom), work(nil)), explained{events.OutcomeSuccess, 0, "", 2, 4, 2, 2, 0}},
		"exhausted": {func() layers { return layers{retry} }, work(errBoom), explained{events.OutcomeFailure, events.ReasonExhausted, "retry", 3, 7, 3, 4, 0}},
		"permanent": {func() layers { return layers{retry} }, work(resilience.Permanent(errBoom)),
			explained{events.OutcomeFailure, events.ReasonPermanent, "retry", 1, 1, 1, 0, 0}},
		"rejected": {func() layers { return layers{retry, forced()} }, work(nil), explained{events.OutcomeRejected, events.ReasonForcedOpen, "db", 0, 0, 0, 0, 0}},
		"timeout":  {func() layers { return layers{total(1)} }, work(nil), explained{events.OutcomeTimeout, 0, "total", 1, 0, 0, 0, 0}},
		"timeout in a backoff": {func() layers { return layers{total(2 * time.Second), patient} }, work(errBoom),
			explained{events.OutcomeTimeout, 0, "total", 1, 2, 1, 1, 0}},
		"a deadline too near": {func() layers { return layers{total(2 * time.Second), hasty} }, work(errBoom),
			explained{events.OutcomeFailure, events.ReasonDeadline, "retry", 1, 1, 1, 0, 0}},
		"queued":        {func() layers { return layers{busy(0)} }, work(nil), explained{events.OutcomeSuccess, 0, "", 1, 4, 1, 0, 3}},
		"queue timeout": {func() layers { return layers{busy(2 * time.Second)} }, work(nil), explained{events.OutcomeRejected, events.ReasonQueueTimeout, "room", 0, 2, 0, 0, 2}},
		"timed out, then a failure": {func() layers { return layers{again(), total(1)} }, steps(work(nil), func(context.Context) error { return errBoom }),
			explained{events.OutcomeFailure, 0, "", 2, 0, 0, 0, 0}},
	} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			tape := record(bus)
			err := ints(bus, c.layers()...).Run(t.Context(), c.op)
			all := heard[events.ExecutionFinished](tape)
			if len(all) != 1 {
				t.Fatalf("%s: finished %d times", what, len(all))
			}
			e := all[0]
			got := explained{e.Outcome, e.Reason, "", e.Attempts, e.Duration / time.Second, e.Working / time.Second, e.Backoff / time.Second, e.Queued / time.Second}
			if e.Layer != nil {
				got.decider = e.Layer.Layer()
			}
			if got != c.want || (e.Err == nil) != (err == nil) || e.Source.Pipeline() != "ints" {
				t.Errorf("%s: %+v, want %+v", what, got, c.want)
			}
		})
	}
}

// BUS-08, BUS-09: what is told of a call carries its number, its key and its attempt.
func TestEventsOfACallBelongTogether(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	p := ints(bus, resilience.Retry{Backoff: resilience.NoDelay, MaxAttempts: 2})
	for _, key := range []string{"a", "b"} {
		p.DoKey(t.Context(), key, returns(0, errBoom))
	}
	numbers := map[string]map[uint64]bool{"a": {}, "b": {}}
	var attempts []int
	for _, e := range tape.all {
		m := e.Header()
		if m.Source.Type() == events.TypePipeline && e.EventName() == "source.added" {
			continue
		}
		numbers[m.Key][m.Execution] = true
		if m.At.IsZero() || m.Execution == 0 {
			t.Errorf("%s: %+v", e.EventName(), m)
		}
		if m.Key == "a" {
			attempts = append(attempts, m.Attempt)
		}
	}
	if len(numbers["a"]) != 1 || len(numbers["b"]) != 1 {
		t.Errorf("numbers of executions by key: %v", numbers)
	}
	if want := []int{0, 1, 1, 1, 2, 2, 2, 0}; !slices.Equal(attempts, want) {
		t.Errorf("attempts %v, want %v", attempts, want)
	}
}

// An attempt's start tells the backoff before it: none, where none was waited.
func TestAnAttemptTellsTheDelayBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		ints(bus, resilience.Retry{MaxAttempts: 2, Backoff: resilience.Constant(time.Second)}, twice(second)).Run(t.Context(), fail)
		var delays []time.Duration
		for _, e := range heard[events.AttemptStarted](tape) {
			delays = append(delays, e.Delay)
		}
		if want := []time.Duration{0, 0, time.Second, 0}; !slices.Equal(delays, want) {
			t.Errorf("delays %v, want %v", delays, want)
		}
	})
}

// PIPE-21: what a hook does to its own context tells nothing of the caller.
func TestAHooksContextDecidesNoOutcome(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	ended := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx
	}
	bus.Attempt.Observe(func(ctx context.Context, _ events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
		return ended(ctx), nil
	})
	err := ints(bus).Run(t.Context(), func(ctx context.Context) error { return ctx.Err() })
	if e := heard[events.AttemptFinished](tape)[0]; e.Outcome != events.OutcomeFailure || resilience.KindOf(err) != resilience.KindUnhandled {
		t.Errorf("the attempt: %v, the caller: %v", e.Outcome, err)
	}
	bus.Execution.Observe(func(ctx context.Context, _ events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
		return ended(ctx), nil
	})
	err = ints(bus).Run(t.Context(), func(ctx context.Context) error { return ctx.Err() })
	if e := heard[events.ExecutionFinished](tape)[1]; e.Outcome != events.OutcomeFailure || resilience.KindOf(err) != resilience.KindUnhandled {
		t.Errorf("the call: %v, the caller: %v", e.Outcome, err)
	}
}
