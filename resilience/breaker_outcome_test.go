package resilience_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// fragile is a breaker that one failure opens.
func fragile(bus *events.Bus) *resilience.Breaker {
	return resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Cooldown: time.Minute, Bus: bus})
}

// BRK-19, PIPE-15, PIPE-21
func TestBreakerCountsOnlyFailuresOfTheDependency(t *testing.T) {
	full := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "full", MaxConcurrent: 1, Bus: events.NewBus()})
	lease, err := full.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release(nil)
	forced := fragile(events.NewBus())
	forced.ForceOpen()
	hang := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
	type op = resilience.Operation[int]
	for _, c := range []struct {
		name           string
		op             op
		outside, inner []resilience.Layer
		deadline       time.Duration // of the caller
		counts         bool
	}{
		{name: "error", op: func(context.Context) (int, error) { return 0, errBoom }, counts: true},
		{name: "failing value", op: func(context.Context) (int, error) { return 503, nil }, counts: true},
		{name: "panic", op: func(context.Context) (int, error) { panic("oh") }, counts: true},
		{name: "the operation's own deadline", op: func(context.Context) (int, error) { return 0, context.DeadlineExceeded }, counts: true},
		{name: "the operation's own cancellation", op: func(context.Context) (int, error) { return 0, context.Canceled }, counts: true},
		{name: "timeout inside", op: hang, inner: []resilience.Layer{resilience.Timeout{After: time.Second}}, counts: true},
		{name: "timeout outside", op: hang, outside: []resilience.Layer{resilience.Timeout{After: time.Second}}, counts: true},
		{name: "success", op: func(context.Context) (int, error) { return 200, nil }},
		{name: "error that is a success", op: func(context.Context) (int, error) { return 404, errBoom }},
		{name: "caller's deadline", op: hang, deadline: time.Second},
		{name: "caller's deadline before the timeout", op: hang, deadline: time.Second, inner: []resilience.Layer{resilience.Timeout{After: 2 * time.Second}}},
		{name: "refusal inside", op: func(context.Context) (int, error) { return 200, nil }, inner: []resilience.Layer{full}},
		{name: "refusal of a breaker inside", op: func(context.Context) (int, error) { return 200, nil }, inner: []resilience.Layer{forced}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := fragile(events.NewBus())
			p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.NewBus(),
				Layers: append(append(c.outside, b), c.inner...),
				Classify: func(v int, err error) error {
					switch v {
					case 503:
						return errBoom
					case 404:
						return resilience.NoFailure
					}
					return err
				}})
			ctx, cancel := context.WithCancel(t.Context())
			if c.deadline > 0 {
				ctx, cancel = context.WithTimeout(ctx, c.deadline)
			}
			defer cancel()
			func() {
				defer func() { _ = recover() }()
				_, _ = p.Do(ctx, c.op)
			}()
			if opened := b.State() == events.StateOpen; opened != c.counts {
				t.Errorf("%s: counted %v, want %v", c.name, opened, c.counts)
			}
		})
	}
}

// BRK-19: the caller's cancellation tells nothing about the dependency, whatever the operation makes of it.
func TestBreakerIgnoresTheCallersCancellation(t *testing.T) {
	for _, err := range []error{context.Canceled, errBoom} {
		b := fragile(events.NewBus())
		ctx, cancel := context.WithCancel(t.Context())
		_ = b.Run(ctx, func(context.Context) error { cancel(); return err })
		if b.State() != events.StateClosed {
			t.Errorf("counted %v of a caller that had left", err)
		}
	}
}

// BRK-17
func TestFailureIfTellsWhatCounts(t *testing.T) {
	notFound := errors.New("not found")
	asked := 0
	b := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 2, Bus: events.NewBus(),
		FailureIf: func(err error) bool { asked++; return !errors.Is(err, notFound) }})
	run := func(err error) { _ = b.Run(t.Context(), func(context.Context) error { return err }) }
	run(errBoom)
	run(notFound) // no success: the streak goes on
	if s := b.Snapshot(); s.Failures != 1 || s.State != events.StateClosed {
		t.Errorf("an excluded error counted: %+v", s)
	}
	run(errBoom)
	if b.State() != events.StateOpen {
		t.Error("an excluded error ended the streak of failures")
	}
	if asked != 3 {
		t.Errorf("asked %d times, want once for each failure", asked)
	}
}

// BRK-17: were a lock held, this would hang.
func TestFailureIfRunsOutsideOfAnyLock(t *testing.T) {
	var b *resilience.Breaker
	b = resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: events.NewBus(), FailureIf: func(error) bool {
		b.Snapshot()
		b.State()
		_ = b.Run(context.Background(), succeed)
		b.Reset()
		return true
	}})
	_ = b.Run(t.Context(), fail)
	if b.State() != events.StateOpen {
		t.Error("the failure was not counted")
	}
}

// BRK-17, BRK-19: panics are failures, and no question for a predicate, recovered or not.
func TestPanicIsAFailureWhateverThePredicateSays(t *testing.T) {
	never := func(error) bool { return false }
	for _, recovers := range []bool{false, true} {
		for _, own := range []bool{false, true} {
			cfg := resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: events.NewBus()}
			pipeline := resilience.PipelineConfig[int]{Name: "p", Bus: events.NewBus(), RecoverPanics: recovers, RetryIf: never, FailureIf: never}
			if own {
				cfg.FailureIf = never
			}
			b := resilience.MustBreaker(cfg)
			pipeline.Layers = []resilience.Layer{b}
			func() {
				defer func() { _ = recover() }()
				_ = resilience.MustPipeline(pipeline).Run(t.Context(), func(context.Context) error { panic("oh") })
			}()
			if b.State() != events.StateOpen {
				t.Errorf("RecoverPanics %v, own predicate %v: the panic did not count", recovers, own)
			}
		}
	}
}

// BRK-17, PIPE-13
func TestPanicOrGoexitOfFailureIfCountsAsFailure(t *testing.T) {
	for name, predicate := range map[string]func(error) bool{
		"panic":  func(error) bool { panic("oh") },
		"goexit": func(error) bool { runtime.Goexit(); return false },
	} {
		bus := events.NewBus()
		tape := record(bus)
		b := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: bus, FailureIf: predicate})
		apart(func() { _ = b.Run(t.Context(), fail) })
		if b.State() != events.StateOpen {
			t.Errorf("%s: the failure did not count", name)
		}
		if told := heard[events.CallbackPanicked](tape); name == "panic" && (len(told) != 1 || told[0].Callback != "BreakerConfig.FailureIf") {
			t.Errorf("told %+v", told)
		}
	}
}

// BRK-02: a success counts when the call returns from the breaker, also if a layer inside takes its time after the attempt,
// and whether somebody listens or not.
func TestASuccessCountsWhenTheBreakerLearnsOfIt(t *testing.T) {
	for _, heard := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			if heard {
				bus = listened()
			}
			db := breaker(resilience.BreakerConfig{FailureRatio: 0.5, Window: 10 * time.Second, Bus: bus})
			slow := resilience.Around("slow", func(ctx context.Context, next func(context.Context) error) error {
				err := next(ctx)
				time.Sleep(20 * time.Second)
				return err
			})
			if _, err := ints(bus, db, slow).Do(t.Context(), one); err != nil {
				t.Fatal(err)
			}
			if s := db.Snapshot(); s.Calls != 1 {
				t.Errorf("heard %v: %d calls are remembered, want 1", heard, s.Calls)
			}
		})
	}
}
