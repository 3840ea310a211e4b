package resilience_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// retryOnce is a retry of two attempts without a delay.
var retryOnce = resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay}

func pipeline(bus *events.Bus, name string, layers ...resilience.Layer) *resilience.Pipeline[int] {
	return resilience.MustPipeline(resilience.PipelineConfig[int]{Name: name, Layers: layers, Bus: bus})
}

// inside runs inner in an operation of outer that fails.
func inside(outer, inner *resilience.Pipeline[int]) func(context.Context) error {
	return func(ctx context.Context) error {
		return outer.Run(ctx, func(ctx context.Context) error {
			_ = inner.Run(ctx, succeed)
			return errBoom
		})
	}
}

// nestings returns the messages of nested_retry.
func nestings(t *tape) (messages []string) {
	for _, e := range heard[events.ConfigWarning](t) {
		if e.Code == events.WarningNestedRetry {
			messages = append(messages, e.Source.Pipeline()+": "+e.Message)
		}
	}
	return messages
}

// PIPE-24
func TestARetryInsideAnotherPipelinesAttemptIsWarnedOfOncePerPair(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	outer, other, inner := pipeline(bus, "outer", retryOnce), pipeline(bus, "other", retryOnce), pipeline(bus, "inner", retryOnce)
	for range 3 {
		_ = inside(outer, inner)(t.Context())
		_ = inside(other, inner)(t.Context())
	}
	got := nestings(tape)
	if len(got) != 2 || !strings.HasPrefix(got[0], `inner: the retry of pipeline "inner" runs inside an attempt of pipeline "outer"`) ||
		!strings.Contains(got[1], `inside an attempt of pipeline "other"`) {
		t.Errorf("told %q", got)
	}
	if late := nestings(record(bus)); !slices.Equal(late, got) {
		t.Errorf("a late subscriber is told %q, want %q", late, got)
	}
	if w := inner.Warnings(); len(w) != 2 || w[0].Code != events.WarningNestedRetry || len(outer.Warnings()) > 0 {
		t.Errorf("the inner one has %+v, the outer one %+v", w, outer.Warnings())
	}
}

// PIPE-24: nobody has to listen while it happens.
func TestANestedRetryIsKeptForWhoListensLater(t *testing.T) {
	bus := events.NewBus()
	outer, inner := pipeline(bus, "outer", retryOnce), pipeline(bus, "inner", retryOnce)
	_ = inside(outer, inner)(t.Context())
	if got := nestings(record(bus)); len(got) != 1 {
		t.Errorf("told %q", got)
	}
}

// PIPE-24
func TestWhatIsNoNestedRetryIsNotWarnedOf(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	retrying, once, bare := pipeline(bus, "retrying", retryOnce), pipeline(bus, "once", resilience.Retry{MaxAttempts: 1}), pipeline(bus, "bare")
	_ = inside(retrying, once)(t.Context())
	_ = inside(retrying, bare)(t.Context())
	_ = inside(bare, retrying)(t.Context())
	_ = inside(once, retrying)(t.Context())
	_ = retrying.Run(t.Context(), fail)
	_ = retrying.Run(t.Context(), func(context.Context) error { // it does not pass its context on
		_ = pipeline(bus, "apart", retryOnce).Run(context.Background(), succeed)
		return errBoom
	})
	_ = retrying.Run(t.Context(), func(ctx context.Context) error { // nor does a handler's call belong to the attempt
		_ = pipeline(bus, "handler", retryOnce).Run(events.Nest(ctx), succeed)
		return errBoom
	})
	if got := nestings(tape); len(got) > 0 {
		t.Errorf("told %q", got)
	}
}

// PIPE-24: a pipeline between them that does not retry hides nothing.
func TestARetryIsFoundThroughAPipelineBetween(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	outer, between, inner := pipeline(bus, "outer", retryOnce), pipeline(bus, "between", timeout(time.Minute)), pipeline(bus, "inner", retryOnce)
	_ = outer.Run(t.Context(), func(ctx context.Context) error {
		return between.Run(ctx, func(ctx context.Context) error {
			_ = inner.Run(ctx, succeed)
			return errBoom
		})
	})
	if got := nestings(tape); len(got) != 1 || !strings.Contains(got[0], `"outer"`) {
		t.Errorf("told %q", got)
	}
}

// PIPE-24: what is not seen, as documented: the outer pipeline's first attempt has no number in its context.
func TestANestedRetryIsNotSeenBeforeTheOuterOneRetries(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	outer, inner := pipeline(bus, "outer", retryOnce), pipeline(bus, "inner", retryOnce)
	if err := outer.Run(t.Context(), func(ctx context.Context) error { return inner.Run(ctx, succeed) }); err != nil || len(nestings(tape)) > 0 {
		t.Errorf("%v, told %q", err, nestings(tape))
	}
}

// PIPE-24
func TestAOneOffRetryInsideAnAttemptIsWarnedOf(t *testing.T) {
	outer := pipeline(events.NewBus(), "outer of a one-off", retryOnce)
	told := 0
	cancel := events.Default().ConfigWarning.Subscribe(func(_ context.Context, e events.ConfigWarning) {
		if e.Source.Pipeline() == "one_off" && strings.Contains(e.Message, `"outer of a one-off"`) {
			told++
		}
	})
	defer cancel()
	for range 3 {
		_ = outer.Run(t.Context(), func(ctx context.Context) error {
			_ = resilience.Run(ctx, succeed, retryOnce)
			return errBoom
		})
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

// PIPE-24: memory is bounded.
func TestAPipelineWarnsOfSoManyOthersAndNoMore(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	inner := pipeline(bus, "inner", retryOnce)
	for i := range 50 {
		outer := pipeline(bus, fmt.Sprint("outer ", i), retryOnce)
		_ = inside(outer, inner)(t.Context())
	}
	if got := nestings(tape); len(got) != 16 {
		t.Errorf("told of %d", len(got))
	}
}

// PIPE-24
func TestManyNestedCallsAtOnceAreWarnedOfOnce(t *testing.T) {
	bus := events.NewBus()
	var told atomic.Int64
	bus.ConfigWarning.Subscribe(func(context.Context, events.ConfigWarning) { told.Add(1) })
	outers := []*resilience.Pipeline[int]{pipeline(bus, "a", retryOnce), pipeline(bus, "b", retryOnce), pipeline(bus, "c", retryOnce)}
	inner := pipeline(bus, "inner", retryOnce)
	var all sync.WaitGroup
	for _, outer := range outers {
		for range 8 {
			all.Go(func() {
				for range 50 {
					_ = inside(outer, inner)(context.Background())
				}
			})
		}
	}
	all.Wait()
	if w := inner.Warnings(); len(w) != 3 {
		t.Errorf("it has %d warnings", len(w))
	}
	for giveUp := time.Now().Add(10 * time.Second); told.Load() < 3 && time.Now().Before(giveUp); {
		runtime.Gosched() // what one goroutine left to another is told soon after
	}
	if told.Load() != 3 {
		t.Errorf("told %d times", told.Load())
	}
}

// PIPE-24 PIPE-13: a handler that panics or ends the goroutine leaves nothing behind.
func TestAHandlerOfANestedRetryMayPanicOrEndItsGoroutine(t *testing.T) {
	for name, harm := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		bus := events.NewBus()
		bus.ConfigWarning.Subscribe(func(context.Context, events.ConfigWarning) { harm() })
		room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, Bus: bus})
		outer, inner := pipeline(bus, "outer", room, retryOnce), pipeline(bus, "inner", retryOnce)
		apart(func() { _ = inside(outer, inner)(context.Background()) })
		if room.Snapshot().Usage != 0 {
			t.Errorf("%s: a permit is left behind", name)
		}
		if err := outer.Run(t.Context(), func(ctx context.Context) error { return inner.Run(ctx, succeed) }); err != nil {
			t.Errorf("%s: the next call: %v", name, err)
		}
	}
}

// PIPE-24: once it was told of, a nested call costs no allocation more than an attempt that is numbered.
func TestANestedRetryThatWasToldOfCostsNothingMore(t *testing.T) {
	bus := events.NewBus()
	outer, retrying, once := pipeline(bus, "outer", retryOnce), pipeline(bus, "inner", retryOnce), pipeline(bus, "once", resilience.Retry{MaxAttempts: 1})
	measure := func(inner *resilience.Pipeline[int]) float64 {
		call := inside(outer, inner)
		return testing.AllocsPerRun(100, func() { _ = call(context.Background()) })
	}
	if nested, plain := measure(retrying), measure(once); nested != plain {
		t.Errorf("%v allocations, %v where the inner one does not retry", nested, plain)
	}
}
