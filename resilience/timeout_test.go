package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// hang waits for its context's end.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TMO-01, TMO-02
func TestTimeoutEndsTheContextAndTellsItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		began := time.Now()
		var cause error
		err := ints(bus, resilience.Timeout{Name: "total", After: 2 * time.Second}).Run(t.Context(), func(ctx context.Context) error {
			if d, ok := ctx.Deadline(); !ok || !d.Equal(began.Add(2*time.Second)) {
				t.Errorf("deadline %v", d)
			}
			err := hang(ctx)
			cause = context.Cause(ctx)
			return err
		})
		if time.Since(began) != 2*time.Second {
			t.Errorf("took %v", time.Since(began))
		}
		timeout := new(resilience.TimeoutError)
		if !errors.Is(err, resilience.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &timeout) {
			t.Fatalf("got %v", err)
		}
		if timeout.Layer != "total" || timeout.Limit != 2*time.Second || timeout.Err != nil || err.Error() != "resilience: total: no result within 2s" {
			t.Errorf("%+v: %v", timeout, err)
		}
		var network interface{ Timeout() bool }
		if !errors.As(err, &network) || !network.Timeout() {
			t.Error("it is no timeout as those of a network are")
		}
		if ended := new(resilience.TimeoutError); !errors.As(cause, &ended) || ended.Limit != 2*time.Second || ended.Layer != "total" {
			t.Errorf("the cause of the context's end: %v", cause)
		}
		told, finished := heard[events.TimedOut](tape), heard[events.ExecutionFinished](tape)[0]
		if len(told) != 1 || told[0].Limit != 2*time.Second || told[0].Err != nil || told[0].Source.Layer() != "total" {
			t.Errorf("told %+v", told)
		}
		if finished.Outcome != events.OutcomeTimeout || finished.Layer.Layer() != "total" {
			t.Errorf("finished %+v", finished)
		}
	})
}

// TMO-01
func TestTimeoutKeepsTheOperationsOwnError(t *testing.T) {
	own := errors.New("rollback failed")
	for _, c := range []struct {
		make func(context.Context) error
		want error // nil: it only reports its context's end
	}{
		{func(context.Context) error { return own }, own},
		{func(ctx context.Context) error { return fmt.Errorf("query: %w", errors.Join(ctx.Err(), own)) }, own},
		{func(ctx context.Context) error { return ctx.Err() }, nil},
		{context.Cause, nil},
		{func(context.Context) error { return context.Canceled }, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			err := resilience.Run(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return c.make(ctx) }, resilience.Timeout{After: time.Second})
			timeout, ok := err.(*resilience.TimeoutError)
			if !ok || (timeout.Err != nil) != (c.want != nil) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%v, own error %v; want %v", err, timeout.Err, c.want)
			}
		})
	}
}

// TMO-03
func TestCallersEndIsNeverTheLayersTimeout(t *testing.T) {
	for name, end := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		},
		"cancellation": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		},
	} {
		for _, stays := range []time.Duration{0, time.Hour} { // until long after the limit
			synctest.Test(t, func(t *testing.T) {
				bus := events.NewBus()
				tape := record(bus)
				ctx, cancel := end(t.Context())
				defer cancel()
				err := ints(bus, resilience.Timeout{After: 2 * time.Second}).Run(ctx, func(ctx context.Context) error {
					err := hang(ctx)
					time.Sleep(stays)
					return err
				})
				if errors.Is(err, resilience.ErrTimeout) || resilience.KindOf(err) != resilience.KindCanceled || len(heard[events.TimedOut](tape)) != 0 {
					t.Errorf("%s, stays %v: %v", name, stays, err)
				}
			})
		}
	}
}

// TMO-03: the caller's end, after the limit but before the operation returns, wins, too.
func TestCallerWinsWhenBothFired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := ints(bus, resilience.Timeout{After: time.Second}).Run(ctx, func(ctx context.Context) error {
			time.Sleep(3 * time.Second)
			return ctx.Err()
		})
		if resilience.KindOf(err) != resilience.KindCanceled || errors.Is(err, resilience.ErrTimeout) || len(heard[events.TimedOut](tape)) != 0 {
			t.Errorf("%v, told %v", err, tape.names())
		}
	})
}

// TMO-01, TMO-07: the limit that cuts a wait between attempts short keeps the last failure as it was.
func TestTotalTimeoutDuringABackoffKeepsTheLastFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		err := ints(bus, resilience.Timeout{After: time.Second}, resilience.Retry{Backoff: resilience.Constant(time.Minute), IgnoreDeadline: true}).Run(t.Context(), fail)
		if timeout, ok := err.(*resilience.TimeoutError); !ok || timeout.Err != errBoom || resilience.KindOf(err) != resilience.KindUnavailable {
			t.Errorf("got %v", err)
		}
		if told := heard[events.TimedOut](tape); len(told) != 1 || told[0].Err != errBoom {
			t.Errorf("told %+v", told)
		}
	})
}

// TMO-04
func TestInnerTimeoutKeepsItsNameOnTheWayOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := resilience.Run(t.Context(), hang, resilience.Timeout{Name: "outer", After: time.Minute}, resilience.Timeout{Name: "inner", After: time.Second})
		if timeout := err.(*resilience.TimeoutError); timeout.Layer != "inner" || timeout.Limit != time.Second {
			t.Errorf("got %v", err)
		}
		err = resilience.Run(t.Context(), func(context.Context) error { time.Sleep(time.Hour); return errBoom },
			resilience.Timeout{Name: "outer", After: time.Minute}, resilience.Timeout{Name: "inner", After: time.Second})
		if timeout := err.(*resilience.TimeoutError); timeout.Layer != "outer" || !errors.Is(err, errBoom) {
			t.Errorf("after both limits: %v; the outer one counts for the caller", err)
		}
	})
}

// TMO-05
func TestLateValueIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus, Layers: []resilience.Layer{resilience.Timeout{After: time.Second}},
			Classify: func(v int, err error) error {
				if v == 503 {
					return errBoom
				}
				return err
			}})
		for _, c := range []struct {
			value int
			want  events.Outcome
			err   error
		}{{7, events.OutcomeSuccess, nil}, {503, events.OutcomeFailure, errBoom}} {
			before := len(heard[events.LateResult](tape))
			got, err := p.Do(t.Context(), func(context.Context) (int, error) { time.Sleep(2 * time.Second); return c.value, nil })
			late := heard[events.LateResult](tape)[before:]
			if got != c.value || err != nil || len(late) != 1 || late[0].Outcome != c.want || late[0].Err != c.err || late[0].Source.Layer() != "timeout" {
				t.Errorf("got %v, %v, told %+v", got, err, late)
			}
		}
		if told := heard[events.TimedOut](tape); len(told) != 0 {
			t.Errorf("told %+v", told)
		}
	})
}

// TMO-07
func TestAttemptsLimitIsRetriedAndTheTotalEndsTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		layers := []resilience.Layer{
			resilience.Timeout{Name: "total", After: 5 * time.Second},
			resilience.Retry{MaxAttempts: 10, Backoff: resilience.NoDelay},
			resilience.Timeout{Name: "attempt", After: 2 * time.Second},
		}
		began := time.Now()
		err := ints(bus, layers...).Run(t.Context(), hang)
		timeout := new(resilience.TimeoutError)
		if !errors.As(err, &timeout) || timeout.Layer != "total" || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		var told []string
		for _, e := range heard[events.TimedOut](tape) {
			told = append(told, fmt.Sprint(e.Source.Layer(), " ", e.Attempt))
		}
		if got := fmt.Sprint(told); got != "[attempt 1 attempt 2 total 1]" { // the total's layer stands outside of the attempts
			t.Errorf("told %v", got)
		}
		if e := heard[events.RetryStopped](tape)[0]; e.Reason != events.ReasonDeadline || e.Attempts != 3 {
			t.Errorf("stopped: %+v", e)
		}
		for i, e := range heard[events.AttemptFinished](tape) {
			if e.Outcome != events.OutcomeTimeout {
				t.Errorf("attempt %d: %v", i+1, e.Outcome)
			}
		}
	})
}

// TMO-08
func TestNegativeTimeoutIsOffAndZeroIsTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := resilience.Run(t.Context(), func(ctx context.Context) error {
			if ctx != t.Context() {
				t.Error("a context was made")
			}
			return nil
		}, resilience.Timeout{After: -1}); err != nil {
			t.Error(err)
		}
		began := time.Now()
		if err := resilience.Run(t.Context(), hang, resilience.Timeout{}); !errors.Is(err, resilience.ErrTimeout) || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// TMO-02: when the call has returned, its context has ended, whatever the limit.
func TestContextEndsWithTheCall(t *testing.T) {
	var kept context.Context
	_ = resilience.Run(t.Context(), func(ctx context.Context) error { kept = ctx; return nil }, resilience.Timeout{After: time.Hour})
	if kept.Err() != context.Canceled || errors.Is(context.Cause(kept), resilience.ErrTimeout) {
		t.Errorf("%v, %v", kept.Err(), context.Cause(kept))
	}
}
