package resilience_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// scheduled runs an operation that always fails with err, and returns the delays that were told and how long it took.
func scheduled(t *testing.T, retry resilience.Retry, err error) (delays []time.Duration, hinted []bool, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		tape := record(bus)
		began := time.Now()
		_ = ints(bus, retry).Run(t.Context(), func(context.Context) error { return err })
		took = time.Since(began)
		for _, e := range heard[events.RetryScheduled](tape) {
			delays, hinted = append(delays, e.Delay), append(hinted, e.HintedByPeer)
		}
	})
	return delays, hinted, took
}

// RET-10
func TestDefaultDelaysAreExponentialWithEqualJitter(t *testing.T) {
	delays, _, took := scheduled(t, resilience.Retry{MaxAttempts: 4, Rand: func() float64 { return 0.5 }}, errBoom)
	if want := []time.Duration{250e6, 500e6, 1000e6}; !slices.Equal(delays, want) || took != 1750*time.Millisecond {
		t.Errorf("delays %v in %v, want %v", delays, took, want)
	}
	delays, _, _ = scheduled(t, resilience.Retry{MaxAttempts: 4, Rand: func() float64 { return 0 }}, errBoom)
	if want := []time.Duration{125e6, 250e6, 500e6}; !slices.Equal(delays, want) {
		t.Errorf("delays %v, want half of the curve, %v", delays, want)
	}
}

// RET-09
func TestConstantAndLinearHaveNoJitterUnlessAsked(t *testing.T) {
	for _, c := range []struct {
		retry resilience.Retry
		want  []time.Duration
	}{
		{resilience.Retry{Backoff: resilience.Constant(time.Second)}, []time.Duration{1e9, 1e9}},
		{resilience.Retry{Backoff: resilience.Linear{Step: time.Second}}, []time.Duration{1e9, 2e9}},
		{resilience.Retry{Backoff: resilience.Constant(time.Second), Jitter: resilience.JitterFull}, []time.Duration{25e7, 25e7}},
	} {
		c.retry.Rand = func() float64 { return 0.25 }
		if delays, _, _ := scheduled(t, c.retry, errBoom); !slices.Equal(delays, c.want) {
			t.Errorf("%v: delays %v, want %v", c.retry.LayerInfo().Settings, delays, c.want)
		}
	}
}

// RET-09, PIPE-04: each execution draws from its own previous draw, whatever the wait was in the end.
func TestDecorrelatedDelaysBelongToTheExecution(t *testing.T) {
	highest := func() float64 { return 1 }
	for name, c := range map[string]struct {
		retry resilience.Retry
		err   error
		want  []time.Duration
	}{
		"plain":         {resilience.Retry{}, errBoom, []time.Duration{3e9, 9e9, 27e9, 30e9}},
		"a hint":        {resilience.Retry{}, resilience.RetryAfter(errBoom, 10*time.Second), []time.Duration{10e9, 10e9, 27e9, 30e9}},
		"an override":   {resilience.Retry{Delay: func(f resilience.FailedAttempt) time.Duration { return f.Delay / 3 }}, errBoom, []time.Duration{1e9, 3e9, 9e9, 10e9}},
		"a lower limit": {resilience.Retry{MaxDelay: 5 * time.Second}, errBoom, []time.Duration{3e9, 5e9, 5e9, 5e9}},
	} {
		c.retry.MaxAttempts, c.retry.Jitter, c.retry.Rand = 5, resilience.JitterDecorrelated, highest
		c.retry.Backoff = resilience.Exponential{Base: time.Second}
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			tape := record(bus)
			p := ints(bus, c.retry)
			for range 2 {
				go p.Run(t.Context(), func(context.Context) error { return c.err })
			}
			time.Sleep(time.Hour)
			got := map[uint64][]time.Duration{}
			for _, e := range heard[events.RetryScheduled](tape) {
				got[e.Execution] = append(got[e.Execution], e.Delay)
			}
			for _, delays := range got {
				if len(got) != 2 || !slices.Equal(delays, c.want) {
					t.Errorf("%s: delays %v, want %v", name, got, c.want)
				}
			}
		})
	}
}

// RET-10, RET-22: a pointer to a backoff is as good as the literal, and keeps its jitter.
func TestPointerToBackoffIsItsLiteral(t *testing.T) {
	backoff := &resilience.Exponential{Base: time.Second}
	retry := resilience.Retry{Backoff: backoff, Rand: func() float64 { return 0 }}
	if got, want := retry.LayerInfo().Settings, (resilience.Retry{Backoff: *backoff}).LayerInfo().Settings; !slices.Equal(got, want) {
		t.Errorf("settings %v, want %v", got, want)
	}
	if delays, _, _ := scheduled(t, retry, errBoom); !slices.Equal(delays, []time.Duration{5e8, 1e9}) {
		t.Errorf("delays %v, want half of 1 s and 2 s", delays)
	}
	for _, bad := range []resilience.Backoff{
		(*resilience.Exponential)(nil), (*resilience.Linear)(nil), (*resilience.Constant)(nil), resilience.BackoffFunc(nil),
		&resilience.Exponential{Base: -1}, &resilience.Linear{Step: -1}, resilience.Constant(-1),
	} {
		_, err := resilience.NewPipeline(resilience.PipelineConfig[int]{Name: "p", Layers: []resilience.Layer{resilience.Retry{Backoff: bad}}})
		if c := new(resilience.ConfigError); !errors.As(err, &c) || c.Type != "Retry" {
			t.Errorf("%#v: %v", bad, err)
		}
	}
}

// RET-11: backoff, cap, override, OnRetry with the final delay, event, discard, wait.
func TestRetryKeepsItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		var order []string
		var inDelay, inOnRetry, inEvent time.Duration
		bus.RetryScheduled.Subscribe(func(_ context.Context, e events.RetryScheduled) {
			order, inEvent = append(order, "scheduled"), e.Delay
		})
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus,
			Classify: func(v int, err error) error {
				if v == 503 {
					return errBoom
				}
				return err
			},
			Discard: func(v int) error { order = append(order, "discard"); return nil },
			Layers: []resilience.Layer{resilience.Retry{
				MaxAttempts: 2, MaxDelay: 3 * time.Second,
				If: func(error) bool { order = append(order, "if"); return true },
				Backoff: resilience.BackoffFunc(func(int, time.Duration) time.Duration {
					order = append(order, "backoff")
					return time.Hour
				}),
				Delay: func(f resilience.FailedAttempt) time.Duration {
					order, inDelay = append(order, "delay"), f.Delay
					return time.Minute
				},
				OnRetry: func(_ context.Context, f resilience.FailedAttempt) bool {
					order, inOnRetry = append(order, "onretry"), f.Delay
					if f.Value != 503 || f.Err != errBoom {
						t.Errorf("OnRetry got %+v", f)
					}
					return true
				},
			}},
		})
		began := time.Now()
		_, _ = p.Do(t.Context(), func(context.Context) (int, error) { order = append(order, "run"); return 503, nil })
		want := []string{"run", "if", "backoff", "delay", "onretry", "scheduled", "discard", "run"}
		if !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		const limit = 3 * time.Second
		if inDelay != limit || inOnRetry != limit || inEvent != limit || time.Since(began) != limit {
			t.Errorf("Delay saw %v, OnRetry %v, the event %v, the wait %v; each is the cap, 3 s", inDelay, inOnRetry, inEvent, time.Since(began))
		}
	})
}

// RET-08, RET-11
func TestDelayOverridesWithinTheCap(t *testing.T) {
	for _, c := range []struct{ says, want time.Duration }{
		{0, 0}, {time.Second, time.Second}, {time.Hour, 30 * time.Second}, {math.MaxInt64, 30 * time.Second},
		{resilience.KeepDelay, 5 * time.Second}, {math.MinInt64, 5 * time.Second},
	} {
		delays, _, took := scheduled(t, resilience.Retry{MaxAttempts: 2, Backoff: resilience.Constant(5 * time.Second),
			Delay: func(resilience.FailedAttempt) time.Duration { return c.says }}, errBoom)
		if len(delays) != 1 || delays[0] != c.want || took != c.want {
			t.Errorf("Delay %v: %v, waited %v; want %v", c.says, delays, took, c.want)
		}
	}
}

// RET-12
func TestHintRaisesTheDelayUpToTheCap(t *testing.T) {
	for _, c := range []struct {
		hint, want time.Duration
		hinted     bool
	}{
		{7 * time.Second, 7 * time.Second, true}, {time.Millisecond, 2 * time.Second, false}, {2 * time.Second, 2 * time.Second, false},
		{0, 2 * time.Second, false}, {-time.Hour, 2 * time.Second, false}, {math.MinInt64, 2 * time.Second, false},
		{time.Hour, 30 * time.Second, true}, {math.MaxInt64, 30 * time.Second, true},
	} {
		delays, hinted, _ := scheduled(t, resilience.Retry{MaxAttempts: 2, Backoff: resilience.Constant(2 * time.Second)},
			resilience.RetryAfter(errBoom, c.hint))
		if delays[0] != c.want || hinted[0] != c.hinted {
			t.Errorf("hint %v: %v, hinted %v; want %v, %v", c.hint, delays[0], hinted[0], c.want, c.hinted)
		}
	}
	delays, hinted, _ := scheduled(t, resilience.Retry{MaxAttempts: 2, Backoff: resilience.Constant(time.Hour)},
		resilience.RetryAfter(errBoom, time.Hour))
	if delays[0] != 30*time.Second || hinted[0] {
		t.Errorf("backoff and hint beyond the cap: %v, hinted %v; the hint raised nothing", delays[0], hinted[0])
	}
}

// RET-12, RET-11: who overrides the hint is not hinted any more.
func TestDelayMayOverrideAHint(t *testing.T) {
	var saw time.Duration
	delays, hinted, _ := scheduled(t, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay,
		Delay: func(f resilience.FailedAttempt) time.Duration { saw = f.Delay; return time.Second }},
		resilience.RetryAfter(errBoom, 20*time.Second))
	if saw != 20*time.Second || delays[0] != time.Second || hinted[0] {
		t.Errorf("Delay saw %v, waited %v, hinted %v", saw, delays[0], hinted[0])
	}
}

// RET-12
func TestStopOnLongHintEndsTheRetry(t *testing.T) {
	retry := resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay, MaxDelay: time.Minute, StopOnLongHint: true}
	if delays, _, took := scheduled(t, retry, resilience.RetryAfter(errBoom, time.Minute+1)); len(delays) != 0 || took != 0 {
		t.Errorf("a hint beyond the cap was waited for: %v", delays)
	}
	if delays, _, _ := scheduled(t, retry, resilience.RetryAfter(errBoom, time.Minute)); !slices.Equal(delays, []time.Duration{time.Minute}) {
		t.Errorf("a hint at the cap: %v", delays)
	}
}

// RET-12
func TestMarkOfRetryAfterHidesNothing(t *testing.T) {
	err := resilience.RetryAfter(errBoom, time.Second)
	if err.Error() != "boom" || !errors.Is(err, errBoom) {
		t.Errorf("%v does not show the error it marks", err)
	}
	if resilience.RetryAfter(nil, time.Second) != nil || resilience.RetryAfter(errBoom, 0) != errBoom || resilience.RetryAfter(errBoom, -1) != errBoom {
		t.Error("a hint that says nothing marks something")
	}
}
