package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// bulky is an error that cannot be compared.
type bulky struct{ parts []string }

func (b bulky) Error() string { return strings.Join(b.parts, ", ") }

// treacherous is of a type that can be compared, and has a value that cannot.
type treacherous struct{ part any }

func (t treacherous) Error() string { return fmt.Sprint(t.part) }

// everyLayer has one layer of each kind, a retry that does not wait included.
func everyLayer() []resilience.Layer {
	return []resilience.Layer{
		resilience.Around("around", func(ctx context.Context, next func(context.Context) error) error { return next(ctx) }),
		typed[int](func(next resilience.Next[int]) resilience.Next[int] { return next }),
		&counting{},
		resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxQueue: 1, Bus: events.Off()}),
		resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "rate", Rate: 1000, MaxWait: time.Second, Bus: events.Off()}),
		resilience.Timeout{After: time.Minute},
		resilience.Retry{MaxAttempts: 3, Backoff: resilience.NoDelay},
		quietBreaker("db"),
		resilience.Timeout{After: time.Second},
	}
}

// PIPE-12
func TestTheLastAttemptsErrorIsReturnedAsItIs(t *testing.T) {
	passed := func(_ int, err error) error { return err }
	hold := func(v int, _ resilience.Held) int { return v }
	for what, cfg := range map[string]resilience.PipelineConfig[int]{
		"plain": {}, "classified": {Classify: passed}, "held": {Hold: hold}, "all": {Classify: passed, Hold: hold, RecoverPanics: true, RetryIf: func(error) bool { return true }},
	} {
		cfg.Name = "p"
		for _, bus := range []*events.Bus{events.Off(), events.NewBus()} {
			cfg.Bus = bus
			record(bus)
			cfg.Layers = everyLayer()
			p := resilience.MustPipeline(cfg)
			run := 0
			var errs []error
			_, err := p.Do(t.Context(), func(context.Context) (int, error) {
				run++
				errs = append(errs, fmt.Errorf("attempt %d: %w", run, errBoom))
				return 0, errs[run-1]
			})
			if run != 3 || err != errs[2] {
				t.Errorf("%s: got %v after %d runs, want the third's error itself", what, err, run)
			}
			for _, odd := range []error{bulky{[]string{"a", "b"}}, treacherous{[]string{"a"}}} {
				cfg.Layers = everyLayer()
				if got := resilience.MustPipeline(cfg).Run(t.Context(), func(context.Context) error { return odd }); got == nil || got.Error() != odd.Error() || fmt.Sprintf("%T", got) != fmt.Sprintf("%T", odd) {
					t.Errorf("%s: got %#v, want %#v", what, got, odd)
				}
			}
		}
	}
}

// PIPE-12: also when the caller has left, errors that cannot be compared are found.
func TestErrorsThatCannotBeComparedAreFoundInACancellation(t *testing.T) {
	for _, odd := range []error{bulky{[]string{"a"}}, treacherous{[]string{"a"}}} {
		ctx, cancel := context.WithCancel(t.Context())
		err := ints(events.Off(), everyLayer()...).Run(ctx, func(context.Context) error { cancel(); return odd })
		var marked *resilience.CanceledError
		if !errors.As(err, &marked) || marked.Last.Error() != odd.Error() {
			t.Errorf("got %v", err)
		}
	}
}

// PIPE-16
func TestACanceledErrorHasItsContextsErrorItsCauseAndTheLastFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain, cancel := context.WithCancel(t.Context())
		err := ints(events.Off()).Run(plain, func(context.Context) error { cancel(); return context.Canceled })
		if want := "resilience: canceled by the caller: context canceled"; err.Error() != want || !slices.Equal(tree(err)[1:], []error{context.Canceled}) {
			t.Errorf("got %q of %v, want %q", err, tree(err), want)
		}
		caused, cancelCaused := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancelCaused(errCause) })
		err = ints(events.Off(), resilience.Retry{Backoff: resilience.Constant(time.Minute), MaxDelay: time.Hour}).Run(caused, fail)
		want := "resilience: canceled by the caller: context canceled: the client hung up (last failure: boom)"
		if err.Error() != want || !slices.Equal(tree(err)[1:], []error{context.Canceled, errCause, errBoom}) {
			t.Errorf("got %q of %v, want %q", err, tree(err), want)
		}
	})
}

// PIPE-16: pipelines within pipelines mark the caller's end once.
func TestNestedPipelinesMarkACancellationOnce(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	inner, outer := ints(events.Off()), ints(events.Off(), resilience.Retry{})
	err := outer.Run(ctx, func(ctx context.Context) error {
		return inner.Run(ctx, func(context.Context) error { cancel(errCause); return errBoom })
	})
	if want := "resilience: canceled by the caller: context canceled: the client hung up (last failure: boom)"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestTextsOfErrorsNameTheLayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Bus: events.Off()})
		p := ints(events.Off(), db)
		p.Run(t.Context(), fail)
		room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, Bus: events.Off()})
		lease, _ := room.Acquire(t.Context())
		defer lease.Release(nil)
		hang := func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("query: %w", ctx.Err()) }
		gate := func(err error) resilience.Layer { return &counting{name: "gate", refuse: err} }
		for want, err := range map[string]error{
			"resilience: circuit breaker db is open, retry after 30s (last failure: boom)":                                             p.Run(t.Context(), succeed),
			"resilience: bulkhead room rejected the call: full (1 of 1 running)":                                                       room.Run(t.Context(), succeed),
			"resilience: total: no result within 1ns: query: context deadline exceeded":                                                ints(events.Off(), resilience.Timeout{Name: "total", After: 1}).Run(t.Context(), hang),
			"resilience: gate rejected the call: rate, retry after 2s":                                                                 ints(events.Off(), gate(resilience.Reject(events.ReasonRate, 2*time.Second))).Run(t.Context(), succeed),
			"resilience: gate rejected the call: shed: boom":                                                                           ints(events.Off(), gate(errBoom)).Run(t.Context(), succeed),
			"resilience: gate rejected the call: rate, retry after 2s: w: resilience: limiter rejected the call: rate, retry after 2s": ints(events.Off(), gate(fmt.Errorf("w: %w", resilience.Reject(events.ReasonRate, 2*time.Second)))).Run(t.Context(), succeed),
			"resilience: the operation is nil":                                                                                         p.Run(t.Context(), nil),
			"resilience: pipeline is closed":                                                                                           closed(t).Run(t.Context(), succeed),
			"resilience: the pipeline was not made by NewPipeline":                                                                     new(resilience.Pipeline[int]).Run(t.Context(), succeed),
			`resilience: pipeline "": resilience.PipelineConfig.Name = "": must be set: it tells this one apart in telemetry`: func() error {
				_, err := resilience.NewPipeline(resilience.PipelineConfig[int]{})
				return err
			}(),
		} {
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		}
	})
}

func closed(t *testing.T) *resilience.Pipeline[int] {
	p := ints(events.Off())
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return p
}

// A refusal's reason becomes a label: it is one of those that there are.
func TestRejectKnowsItsReasons(t *testing.T) {
	for _, reason := range events.Reasons() {
		var limited *resilience.LimitedError
		if !errors.As(resilience.Reject(reason, -1), &limited) || limited.After != 0 {
			t.Fatalf("%v: %#v", reason, limited)
		}
		want := events.ReasonShed
		if slices.Contains(events.RejectionReasons(events.TypeCustom), reason) {
			want = reason
		}
		if limited.Reason != want {
			t.Errorf("%v became %v, want %v", reason, limited.Reason, want)
		}
	}
}
