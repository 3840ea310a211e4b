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

// twice is an Around layer that calls next twice and ends as decide says.
func twice(decide func(first, second error) error) resilience.Layer {
	return resilience.Around("twice", func(ctx context.Context, next func(context.Context) error) error {
		first := next(ctx)
		return decide(first, next(ctx))
	})
}

func first(first, _ error) error   { return first }
func second(_, second error) error { return second }

// script is an operation whose runs end as told.
func script[T any](ends ...resilience.Operation[T]) resilience.Operation[T] {
	run := 0
	return func(ctx context.Context) (T, error) {
		run++
		return ends[run-1](ctx)
	}
}

func TestAroundGivesTheValueOfTheLastNext(t *testing.T) {
	v, err := ints(events.Off(), twice(second)).Do(t.Context(), script(returns(1, errBoom), returns(2, nil)))
	if v != 2 || err != nil {
		t.Errorf("got %d, %v", v, err)
	}
	v, err = ints(events.Off(), twice(second)).Do(t.Context(), script(returns(1, nil), returns(2, errBoom)))
	if v != 2 || err != errBoom {
		t.Errorf("got %d, %v; want the value that came with the last error", v, err)
	}
	none := resilience.Around("none", func(context.Context, func(context.Context) error) error { return errOwn })
	if v, err := ints(events.Off(), none).Do(t.Context(), returns(1, nil)); v != 0 || err != errOwn {
		t.Errorf("got %d, %v; want the layer's error alone", v, err)
	}
}

// PIPE-28: a layer that returns the error of an earlier next has not the value to it.
func TestAroundWithTheErrorOfAnEarlierNextReturnsAnError(t *testing.T) {
	for what, c := range map[string]struct {
		second resilience.Operation[*reply]
		closed bool
	}{
		"then an error":  {returns[*reply](nil, errBoom), false},
		"then a success": {returns(&reply{status: 200}, nil), true},
		"then a failure": {returns(&reply{status: 503}, nil), true},
	} {
		bad := &reply{status: 503}
		v, err := judged(events.Off(), twice(first)).Do(t.Context(), script(returns(bad, nil), c.second))
		if v != nil || err != errStatus || bad.closed != 1 {
			t.Errorf("a failing value, %s: %v, %v, closed %d times; want what Classify said of the first", what, v, err, bad.closed)
		}
		if second, _ := c.second(t.Context()); c.closed && second.closed != 1 {
			t.Errorf("%s: the value that the layer gave up was closed %d times", what, second.closed)
		}
	}
}

// PIPE-28: unchanged, a failing value stays one; what is superseded is discarded once.
func TestAroundHandsAFailingValueOn(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	one, two := &reply{status: 503}, &reply{status: 503}
	v, err := judged(bus, twice(second)).Do(t.Context(), script(returns(one, nil), returns(two, nil)))
	if v != two || err != nil || one.closed != 1 || two.closed != 0 {
		t.Errorf("%v, %v; closed %d and %d times", v, err, one.closed, two.closed)
	}
	if e := heard[events.ExecutionFinished](tape)[0]; e.Outcome != events.OutcomeFailure || e.Attempts != 2 {
		t.Errorf("finished %+v", e)
	}
}

// The layer's own error replaces a value; that is discarded.
func TestAroundThatRefusesAValueDiscardsIt(t *testing.T) {
	refusing := resilience.Around("refusing", func(ctx context.Context, next func(context.Context) error) error {
		if err := next(ctx); err != nil {
			return fmt.Errorf("refusing: %w", err)
		}
		return errOwn
	})
	for _, status := range []int{200, 503} {
		r := &reply{status: status}
		v, err := judged(events.Off(), refusing).Do(t.Context(), returns(r, nil))
		want := errOwn
		if status == 503 {
			want = errStatus
		}
		if v != nil || !errors.Is(err, want) || r.closed != 1 {
			t.Errorf("%d: %v, %v, closed %d times", status, v, err, r.closed)
		}
	}
}

// RET-02: the operation's runs are numbered alike whoever starts them, and whether anybody listens or not.
func TestRunsAreNumberedWhoeverStartsThem(t *testing.T) {
	again := typed[int](func(next resilience.Next[int]) resilience.Next[int] {
		return func(ctx context.Context, call resilience.Call, op resilience.Operation[int]) (int, error) {
			next(ctx, call, op)
			return next(ctx, call, op)
		}
	})
	for what, c := range map[string]struct {
		layers []resilience.Layer
		want   []int
	}{
		"around":               {[]resilience.Layer{twice(second)}, []int{1, 2}},
		"typed":                {[]resilience.Layer{again}, []int{1, 2}},
		"a retry around typed": {[]resilience.Layer{resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay}, again}, []int{1, 2, 3, 4}},
		"retries": {[]resilience.Layer{resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay},
			resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay}}, []int{1, 2, 3, 4}},
	} {
		for _, bus := range []*events.Bus{events.Off(), events.NewBus()} {
			tape := record(bus)
			var got, told []int
			ints(bus, c.layers...).Run(t.Context(), func(ctx context.Context) error {
				got = append(got, resilience.AttemptNumber(ctx))
				return errBoom
			})
			for _, e := range heard[events.AttemptStarted](tape) {
				told = append(told, e.Attempt)
			}
			if !slices.Equal(got, c.want) || len(told) > 0 && !slices.Equal(told, c.want) {
				t.Errorf("%s: numbers %v, told %v, want %v", what, got, told, c.want)
			}
		}
	}
}

// RET-02: a context keeps its attempt's number, and pipelines inside, or later, count anew, whether anybody listens or not.
func TestPipelinesWithinAnAttemptCountAnew(t *testing.T) {
	for _, bus := range []*events.Bus{events.Off(), listened()} {
		var kept context.Context
		nested := ints(bus, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay})
		numbers := func(ctx context.Context) (all []int) {
			nested.Run(ctx, func(ctx context.Context) error { all = append(all, resilience.AttemptNumber(ctx)); return errBoom })
			return all
		}
		var inside []int
		ints(bus, resilience.Retry{Backoff: resilience.NoDelay}).Run(t.Context(), func(ctx context.Context) error {
			if kept = ctx; resilience.AttemptNumber(ctx) < 2 {
				return errBoom
			}
			type key struct{}
			inside = numbers(context.WithValue(context.WithoutCancel(ctx), key{}, 1))
			return nil
		})
		if want := []int{1, 2}; !slices.Equal(inside, want) || !slices.Equal(numbers(kept), want) {
			t.Errorf("attempts of pipelines inside and later: %v, %v; want %v", inside, numbers(kept), want)
		}
		if n := resilience.AttemptNumber(kept); n != 2 {
			t.Errorf("the context of attempt 2 has the number %d", n)
		}
	}
}

// RET-02: a turn that ends before the operation runs, while it waits for admission, has no number.
func TestATurnThatDoesNotReachTheOperationHasNoNumber(t *testing.T) {
	for _, bus := range []*events.Bus{events.Off(), events.NewBus()} {
		synctest.Test(t, func(t *testing.T) {
			record(bus)
			var numbers []int
			p := ints(bus, resilience.Retry{Backoff: resilience.NoDelay}, resilience.Timeout{After: 2 * time.Second}, busy(0))
			err := p.Run(t.Context(), func(ctx context.Context) error {
				numbers = append(numbers, resilience.AttemptNumber(ctx))
				return nil
			})
			if err != nil || !slices.Equal(numbers, []int{1}) {
				t.Errorf("%v, numbers %v; want the first", err, numbers)
			}
		})
	}
}
