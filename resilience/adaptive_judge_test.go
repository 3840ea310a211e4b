package resilience

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
)

type statusError int

func (statusError) Error() string     { return "status" }
func (s statusError) StatusCode() int { return int(s) }

type grpcError uint32

func (grpcError) Error() string            { return "status" }
func (g grpcError) GRPCStatus() grpcStatus { return grpcStatus(g) }

type grpcStatus uint32

type grpcStatusCode uint32

func (s grpcStatus) Code() grpcStatusCode { return grpcStatusCode(s) }

// LIM-08: what says that there is too much to do, and what says nothing.
func TestAdaptiveLimiterKnowsTheSignsOfLoad(t *testing.T) {
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	gone, leave := context.WithCancel(t.Context())
	leave()
	failed := func(err error) Outcome { return Outcome{Kind: Failed, Err: err} }
	a := MustAdaptiveLimiter(AdaptiveLimiterConfig{Name: "a", Bus: events.Off()})
	for _, c := range []struct {
		what    string
		ctx     context.Context
		outcome Outcome
		want    callEnd
	}{
		{"success", t.Context(), Outcome{Kind: Succeeded}, callAnswered},
		{"no failure of the dependency", t.Context(), Outcome{Kind: Ignored}, callAnswered},
		{"a failure", t.Context(), failed(errors.New("boom")), callUnknown},
		{"a timeout of ours", t.Context(), failed(&TimeoutError{}), callTimedOut},
		{"a timeout of its own", t.Context(), failed(os.ErrDeadlineExceeded), callTimedOut},
		{"a deadline of its own", t.Context(), failed(errors.Join(context.DeadlineExceeded)), callTimedOut},
		{"429", t.Context(), failed(statusError(429)), callTurnedAway},
		{"503", t.Context(), failed(statusError(503)), callTurnedAway},
		{"500", t.Context(), failed(statusError(500)), callUnknown},
		{"RESOURCE_EXHAUSTED", t.Context(), failed(grpcError(8)), callTurnedAway},
		{"UNAVAILABLE", t.Context(), failed(grpcError(14)), callTurnedAway},
		{"NOT_FOUND", t.Context(), failed(grpcError(5)), callUnknown},
		{"refused inside", t.Context(), Outcome{Kind: Rejected, Err: &LimitedError{}}, callUnknown},
		{"the caller's cancellation", gone, Outcome{Kind: Canceled}, callUnknown},
		{"the caller's deadline", late, Outcome{Kind: Canceled}, callTimedOut},
		{"a panic", t.Context(), Outcome{Kind: NotReturned}, callUnknown},
	} {
		if got := a.judge(c.ctx, Call{}, c.outcome); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
	own := MustAdaptiveLimiter(AdaptiveLimiterConfig{Name: "a", Bus: events.Off(), OverloadIf: func(err error) bool {
		if isTimeout(err) {
			t.Errorf("OverloadIf is asked about %v", err)
		}
		return err == statusError(500)
	}})
	for err, want := range map[error]callEnd{
		statusError(500): callTurnedAway, statusError(503): callUnknown, &TimeoutError{}: callTimedOut, context.DeadlineExceeded: callTimedOut,
	} {
		if got := own.judge(t.Context(), Call{}, failed(err)); got != want {
			t.Errorf("with OverloadIf %v is %d, want %d", err, got, want)
		}
	}
}

// LIM-08, PIPE-27: the latency of a value that is held is what the call took to return, also where each key has a limiter.
func TestAdaptiveLimiterMeasuresHeldValuesUntilTheCallReturns(t *testing.T) {
	keyed := func(of func() Gate) Gate {
		return MustKeyed(KeyedConfig{Name: "k", Bus: events.Off(), New: func(key string) (Gate, error) {
			if key == "" {
				return MustBulkhead(BulkheadConfig{Name: "rest", Bus: events.Off()}), nil
			}
			return of(), nil
		}})
	}
	for what, of := range map[string]func(*AdaptiveLimiter) Gate{
		"alone":   func(a *AdaptiveLimiter) Gate { return a },
		"by key":  func(a *AdaptiveLimiter) Gate { return keyed(func() Gate { return a }) },
		"in both": func(a *AdaptiveLimiter) Gate { return keyed(func() Gate { return keyed(func() Gate { return a }) }) },
	} {
		synctest.Test(t, func(t *testing.T) {
			a := MustAdaptiveLimiter(AdaptiveLimiterConfig{Name: "a", Bus: events.Off()})
			release := func(error) {}
			p := MustPipeline(PipelineConfig[int]{Name: "p", Layers: []Layer{of(a)}, Bus: events.Off(),
				Hold: func(v int, r Held) int { release = r.Release; return v }})
			for range 3 * minSampled {
				if _, err := p.DoKey(t.Context(), "key", func(context.Context) (int, error) { time.Sleep(10 * time.Millisecond); return 1, nil }); err != nil {
					t.Fatal(err)
				}
				if a.Snapshot().Usage != 1 {
					t.Fatalf("%s: %+v while its value is held", what, a.Snapshot())
				}
				time.Sleep(time.Second) // its reader takes its time
				release(nil)
			}
			if base := time.Duration(a.machine.base); base != 10*time.Millisecond || a.Snapshot().Usage != 0 {
				t.Errorf("%s: a call without a queue takes %v; %+v", what, base, a.Snapshot())
			}
		})
	}
}
