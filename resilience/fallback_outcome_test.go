package resilience_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// FBK-04, BUS-09
func TestTheExecutionIsAFallbackWhereverItsAnswerComesFrom(t *testing.T) {
	fallback := resilience.FallbackTo(answer7)
	again := resilience.Retry{Backoff: resilience.NoDelay}
	open := quietBreaker("open")
	open.ForceOpen()
	for what, c := range map[string]struct {
		layers   []resilience.Layer
		attempts int
	}{
		"outermost":               {[]resilience.Layer{fallback, again}, 3},
		"inside a retry":          {[]resilience.Layer{again, fallback}, 1},
		"inside a breaker":        {[]resilience.Layer{quietBreaker("db"), fallback}, 1},
		"outside an open breaker": {[]resilience.Layer{fallback, open}, 0},
		"twice":                   {[]resilience.Layer{resilience.FallbackTo(answer7), fallback, again}, 3},
		"outside a failing one": {[]resilience.Layer{fallback, resilience.FallbackTo(func(context.Context, int, error) (int, error) {
			return 0, errGone
		})}, 1},
	} {
		bus := events.NewBus()
		tape := record(bus)
		if v, err := ints(bus, c.layers...).Do(t.Context(), returns(0, errBoom)); v != 7 || err != nil {
			t.Errorf("%s: %d, %v", what, v, err)
		}
		used, done := heard[events.FallbackUsed](tape), heard[events.ExecutionFinished](tape)[0]
		last := used[len(used)-1]
		if done.Outcome != events.OutcomeFallback || done.Layer != last.Source || done.Layer.Type() != events.TypeFallback || done.Reason != 0 ||
			done.Err != nil || done.Attempts != c.attempts {
			t.Errorf("%s: finished %+v", what, done)
		}
		if last.Outcome != events.OutcomeFallback || last.Err != nil || last.Cause == nil || last.Execution != done.Execution || last.Attempt != 1 {
			t.Errorf("%s: used %+v", what, last)
		}
		for _, a := range heard[events.AttemptFinished](tape) {
			if a.Outcome != events.OutcomeFailure || a.Err != errBoom {
				t.Errorf("%s: attempt %+v", what, a)
			}
		}
	}
}

// FBK-04: an answer that the call does not return does not count.
func TestAnAnswerThatIsSupersededDoesNotCount(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	twice := resilience.Around("twice", func(ctx context.Context, next func(context.Context) error) error {
		next(ctx)
		return next(ctx)
	})
	op := &failing{n: 1}
	err := ints(bus, twice, resilience.FallbackValue(7)).Run(t.Context(), op.run)
	done := heard[events.ExecutionFinished](tape)[0]
	if err != nil || done.Outcome != events.OutcomeSuccess || done.Layer != nil || len(heard[events.FallbackUsed](tape)) != 1 {
		t.Errorf("%v, finished %+v", err, done)
	}
}

// FBK-04
func TestAFallbackThatDeclinesLeavesTheOutcomeAsItWas(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	for what, decline := range map[string]resilience.Fallback[int]{
		"returns the failure": resilience.FallbackTo(func(_ context.Context, _ int, err error) (int, error) { return 0, err }),
		"panics":              resilience.FallbackTo(func(context.Context, int, error) (int, error) { panic("to") }),
		"is not selected":     {To: answer7, If: func(error) bool { return false }},
		"cannot select":       {To: answer7, If: func(error) bool { panic("if") }},
	} {
		if v, err := ints(bus, decline).Do(t.Context(), returns(0, errBoom)); v != 0 || err != errBoom {
			t.Errorf("one that %s: %d, %v", what, v, err)
		}
	}
	for _, done := range heard[events.ExecutionFinished](tape) {
		if done.Outcome != events.OutcomeFailure || done.Err != errBoom || done.Layer != nil {
			t.Errorf("finished %+v", done)
		}
	}
	told := map[string]any{}
	for _, e := range heard[events.CallbackPanicked](tape) {
		told[e.Callback] = e.Value
	}
	if used := heard[events.FallbackUsed](tape); len(used) != 0 || len(told) != 2 || told["Fallback.To"] != "to" || told["Fallback.If"] != "if" {
		t.Errorf("used %+v, callbacks that panicked: %v", used, told)
	}
}

// FBK-04: layers outside see a success.
func TestTheLayersOutsideOfAFallbackSeeASuccess(t *testing.T) {
	outside, inside := &counting{name: "outside"}, &counting{name: "inside"}
	outer, inner := quietBreaker("outer"), quietBreaker("inner")
	p := ints(events.Off(), outside, outer, resilience.FallbackValue(7), inside, inner)
	for range 5 {
		p.Run(t.Context(), fail)
	}
	if outer.State() != events.StateClosed || inner.State() != events.StateOpen {
		t.Errorf("outside %v, inside %v", outer, inner)
	}
	for i := range 5 {
		if outside.outcomes[i].Kind != resilience.Succeeded || inside.outcomes[i].Kind != resilience.Failed {
			t.Errorf("outside %+v, inside %+v", outside.outcomes[i], inside.outcomes[i])
		}
	}
}

// FBK-01: what a Timeout outside of it has ended is a failure as any other, and its context is done.
func TestAFallbackHasALiveContextOutsideOfATimeoutAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended error
		fallback := resilience.FallbackTo(func(ctx context.Context, _ int, _ error) (int, error) { ended = ctx.Err(); return 7, nil })
		total := resilience.Timeout{After: time.Second}
		for _, c := range []struct {
			layers []resilience.Layer
			ended  error
		}{
			{[]resilience.Layer{fallback, total}, nil},
			{[]resilience.Layer{total, fallback}, context.DeadlineExceeded},
			{[]resilience.Layer{resilience.Timeout{After: time.Minute}, fallback, total}, nil},
		} {
			bus := events.NewBus()
			tape := record(bus)
			v, err := ints(bus, c.layers...).Do(t.Context(), func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
			if v != 7 || err != nil || !errors.Is(ended, c.ended) || (ended == nil) != (c.ended == nil) {
				t.Errorf("%d, %v, the fallback's context: %v, want %v", v, err, ended, c.ended)
			}
			if done := heard[events.ExecutionFinished](tape)[0]; done.Outcome != events.OutcomeFallback {
				t.Errorf("finished %+v", done)
			}
		}
	})
}

// PIPE-13
func TestAFallbackThatEndsItsGoroutineLeavesNothingBehind(t *testing.T) {
	room, gate := roomFor(1), &counting{}
	handler := events.NewBus()
	handler.FallbackUsed.Subscribe(func(context.Context, events.FallbackUsed) { runtime.Goexit() })
	goexit := func(context.Context, int, error) (int, error) { runtime.Goexit(); return 0, nil }
	for what, p := range map[string]*resilience.Pipeline[int]{
		"To":        ints(events.Off(), gate, room, resilience.FallbackTo(goexit)),
		"If":        ints(events.Off(), gate, room, resilience.Fallback[int]{To: answer7, If: func(error) bool { runtime.Goexit(); return true }}),
		"a handler": ints(handler, gate, room, resilience.FallbackTo(answer7)),
	} {
		if _, returned := survive(func() { p.Run(t.Context(), fail) }); returned || room.Snapshot().Usage != 0 || gate.outstanding != 0 {
			t.Errorf("%s: returned: %t, %v, %d admitted", what, returned, room, gate.outstanding)
		}
		if err := p.Run(t.Context(), succeed); err != nil {
			t.Errorf("%s: the next call: %v", what, err)
		}
	}
}

// FBK-03, PIPE-27: in a pipeline that holds its values the fallback's own is held by what stands outside.
func TestTheFallbacksOwnValueIsHeldByTheLayersOutside(t *testing.T) {
	outside, inside := roomFor(1), roomFor(1)
	mine := &stream{}
	s, err := streams(nil, outside, resilience.FallbackValue(mine), inside).Do(t.Context(), openBadStream)
	if s != mine || err != nil || outside.Snapshot().Usage != 1 || inside.Snapshot().Usage != 0 {
		t.Fatalf("%v, outside %v, inside %v", err, outside, inside)
	}
	s.release(nil)
	if outside.Snapshot().Usage != 0 {
		t.Errorf("after the release: %v", outside)
	}
}

func TestAFallbackThatIsNotUsedAllocatesNothing(t *testing.T) {
	p := ints(events.NewBus(), resilience.FallbackValue(7))
	ctx := context.Background()
	for what, c := range map[string]struct {
		op   resilience.Operation[int]
		most float64
	}{"not used": {one, 0}, "used": {returns(0, errBoom), 0}} {
		if got := testing.AllocsPerRun(300, func() { p.Do(ctx, c.op) }); got > c.most {
			t.Errorf("%s: %v allocations", what, got)
		}
	}
}

func TestTheFallbackFindsTheKeyOfItsOwnCall(t *testing.T) {
	var keys []string
	see := resilience.FallbackTo(func(ctx context.Context, _ int, _ error) (int, error) {
		keys = append(keys, resilience.CallKey(ctx))
		return 7, nil
	})
	inner := ints(events.Off(), see)
	outer := ints(events.Off(), resilience.FallbackTo(func(ctx context.Context, _ int, _ error) (int, error) {
		keys = append(keys, resilience.CallKey(ctx))
		inner.Do(ctx, returns(0, errBoom))
		return inner.DoKey(ctx, "inner", returns(0, errBoom))
	}))
	outer.DoKey(context.WithValue(t.Context(), nameKey{}, 1), "outer", func(ctx context.Context) (int, error) {
		keys = append(keys, resilience.CallKey(ctx))
		return 0, errBoom
	})
	if got := strings.Join(keys, ","); got != ",outer,,inner" {
		t.Errorf("keys: %s", got)
	}
}
