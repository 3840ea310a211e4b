package resilience_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// reply is a value that may be a failure and must be closed.
type reply struct {
	status int
	closed int
	at     time.Time // of the last Close
	err    error     // of Close
}

func (r *reply) Close() error {
	r.closed++
	r.at = time.Now()
	return r.err
}

var errStatus = errors.New("status 503")

func replies(bus *events.Bus, layers ...resilience.Layer) *resilience.Pipeline[*reply] {
	return resilience.MustPipeline(resilience.PipelineConfig[*reply]{Name: "replies", Layers: layers, Bus: bus,
		Classify: func(r *reply, err error) error {
			if err == nil && r != nil && r.status == 503 {
				return errStatus
			}
			return err
		}})
}

// RET-05, RET-14
func TestFailingValueIsRetriedAndTheLastIsHandedOver(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	all := []*reply{{status: 503}, {status: 503}, {status: 503}}
	runs := 0
	got, err := replies(bus, resilience.Retry{Backoff: resilience.NoDelay}).Do(t.Context(), func(context.Context) (*reply, error) {
		runs++
		return all[runs-1], nil
	})
	if err != nil || got != all[2] || runs != 3 {
		t.Errorf("%v, %v after %d runs; want the third reply and no error", got, err, runs)
	}
	if all[0].closed != 1 || all[1].closed != 1 || all[2].closed != 0 {
		t.Errorf("closed %d, %d, %d times; want 1, 1 and the caller's not", all[0].closed, all[1].closed, all[2].closed)
	}
	if e := heard[events.ExecutionFinished](tape)[0]; e.Outcome != events.OutcomeFailure || e.Err != errStatus {
		t.Errorf("finished: %+v", e)
	}
}

// RET-03: whatever came before, the last attempt's value and error are what the caller gets.
func TestLastOutcomeIsReturnedUnchanged(t *testing.T) {
	good, bad := &reply{status: 200}, &reply{status: 503}
	both := &reply{status: 206}
	type outcome struct {
		value *reply
		err   error
	}
	for _, seq := range [][]outcome{
		{{nil, errBoom}, {bad, nil}, {good, nil}},
		{{bad, nil}, {nil, errBoom}, {bad, nil}},
		{{bad, nil}, {bad, nil}, {nil, errBoom}},
		{{nil, errBoom}, {nil, errBoom}, {both, errBoom}},
		{{bad, nil}, {bad, nil}, {nil, nil}},
		{{nil, errBoom}, {both, resilience.Permanent(errBoom)}},
	} {
		run := -1
		last := func() outcome { return seq[run] }
		got, err := replies(events.NewBus(), resilience.Retry{Backoff: resilience.NoDelay}).Do(t.Context(), func(context.Context) (*reply, error) {
			run++
			return last().value, last().err
		})
		if run != len(seq)-1 || got != last().value || err != last().err {
			t.Errorf("%v: got %v, %v after run %d", seq, got, err, run)
		}
	}
}

// RET-14: before the wait, so that its connection is free meanwhile.
func TestSupersededValueIsDiscardedBeforeTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := &reply{status: 503}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(time.Second, cancel)
		got, err := replies(events.NewBus(), resilience.Retry{Backoff: resilience.Constant(time.Minute)}).Do(ctx,
			func(context.Context) (*reply, error) { return first, nil })
		if first.closed != 1 || !first.at.Equal(began) {
			t.Errorf("closed %d times, %v after the attempt; want once, at once", first.closed, first.at.Sub(began))
		}
		if got != nil || !errors.Is(err, context.Canceled) || !errors.Is(err, errStatus) {
			t.Errorf("got %v, %v; want no value, for it is closed, the cancellation and the failure", got, err)
		}
	})
}

// RET-14: a value that decides is the caller's, whatever decides.
func TestValueHandedOverIsNeverDiscarded(t *testing.T) {
	stop := func(context.Context, resilience.FailedAttempt) bool { return false }
	for name, layers := range map[string][]resilience.Layer{
		"OnRetry":   {resilience.Retry{Backoff: resilience.NoDelay, OnRetry: stop}},
		"If":        {resilience.Retry{Backoff: resilience.NoDelay, If: func(error) bool { return false }}},
		"one":       {resilience.Retry{MaxAttempts: 1}},
		"deadline":  {resilience.Timeout{After: time.Second}, resilience.Retry{Backoff: resilience.Constant(time.Hour)}},
		"panicking": {resilience.Retry{If: func(error) bool { panic("oh") }}},
	} {
		r := &reply{status: 503}
		got, err := replies(events.NewBus(), layers...).Do(t.Context(), func(context.Context) (*reply, error) { return r, nil })
		if got != r || err != nil || r.closed != 0 {
			t.Errorf("%s: %v, %v, closed %d times", name, got, err, r.closed)
		}
	}
}

// RET-14
func TestFailureToDiscardIsToldAndChangesNothing(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	first, second := &reply{status: 503, err: errBoom}, &reply{status: 200}
	all := []*reply{first, second}
	got, err := replies(bus, resilience.Retry{Backoff: resilience.NoDelay}).Do(t.Context(), func(context.Context) (*reply, error) {
		r := all[0]
		all = all[1:]
		return r, nil
	})
	if told := heard[events.DiscardFailed](tape); got != second || err != nil || len(told) != 1 || told[0].Err != errBoom {
		t.Errorf("got %v, %v; told %+v", got, err, told)
	}
}

// RET-14
func TestDiscardReplacesClose(t *testing.T) {
	var discarded []int
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.NewBus(),
		Classify: func(v int, err error) error {
			if v < 3 {
				return errBoom
			}
			return err
		},
		Discard: func(v int) error { discarded = append(discarded, v); return nil },
		Layers:  []resilience.Layer{resilience.Retry{MaxAttempts: 5, Backoff: resilience.NoDelay}},
	})
	v := 0
	got, err := p.Do(t.Context(), func(context.Context) (int, error) { v++; return v, nil })
	if got != 3 || err != nil || !slices.Equal(discarded, []int{1, 2}) {
		t.Errorf("got %d, %v, discarded %v", got, err, discarded)
	}
}
