package slogres

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/telltale-go/telltale/events"
)

type spanKey struct{}

func spanOf(ctx context.Context) string {
	s, _ := ctx.Value(spanKey{}).(string)
	return s
}

func traceOf(ctx context.Context) (traceID, spanID string, ok bool) {
	s := spanOf(ctx)
	return "trace", s, s != ""
}

// attachSpans puts a span into the contexts of executions and attempts, as otelres does.
func attachSpans(bus *events.Bus) {
	bus.Execution.Observe(func(ctx context.Context, e events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
		return context.WithValue(ctx, spanKey{}, fmt.Sprint("execution ", e.Execution)), nil
	})
	bus.Attempt.Observe(func(ctx context.Context, e events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
		return context.WithValue(ctx, spanKey{}, fmt.Sprint("attempt ", e.Attempt)), nil
	})
}

// SLOG-01
func TestRecordsHaveTheSpanOfWhatTheyAreAbout(t *testing.T) {
	caller := context.WithValue(context.Background(), spanKey{}, "caller")
	for _, c := range []struct {
		order              string
		attach             func(*events.Bus, Config)
		attempt, execution string
	}{
		{"spans first", func(b *events.Bus, cfg Config) { attachSpans(b); MustAttach(b, cfg) }, "attempt 2", "execution 1"},
		{"spans last", func(b *events.Bus, cfg Config) { MustAttach(b, cfg); attachSpans(b) }, "attempt 2", "execution 1"},
	} {
		bus, h := events.NewBus(), debugRecorder()
		c.attach(bus, Config{Handler: h, Trace: traceOf})
		newPipeline(bus).failed(caller)
		want := map[string]string{"attempt.finished": c.attempt, "execution.finished": c.execution, "retry.stopped": "execution 1"}
		for name, span := range want {
			records := h.of(name)
			a := attrsOf(records[len(records)-1])
			if a[KeyTraceID] != "trace" || a[KeySpanID] != span {
				t.Errorf("%s: %s has %v, %v; want span %q", c.order, name, a[KeyTraceID], a[KeySpanID], span)
			}
		}
		for i, r := range h.all() { // handlers that look for themselves, such as otelslog
			if span, has := attrsOf(r)[KeySpanID]; has && spanOf(h.ctxs[i]) != span {
				t.Errorf("%s: the context of %q has %q, its record %q", c.order, r.Message, spanOf(h.ctxs[i]), span)
			}
		}
	}
}

func TestWithoutASpanThereAreNoIDs(t *testing.T) {
	bus, h := events.NewBus(), debugRecorder()
	MustAttach(bus, Config{Handler: h, Trace: traceOf})
	newPipeline(bus).failed(context.Background())
	for _, r := range h.all() {
		if a := attrsOf(r); a[KeyTraceID] != nil || a[KeySpanID] != nil {
			t.Errorf("%q has ids: %v", r.Message, a)
		}
	}
}

// BUS-11
func TestAHandlerThatRunsAnObservedCallDoesNotFeedItself(t *testing.T) {
	for _, buffered := range []int{0, 100} {
		bus, h := events.NewBus(), debugRecorder()
		shipping := newPipeline(bus)
		shipped := 0
		h.do = func(ctx context.Context, _ slog.Record) error {
			shipped++
			shipping.nested = events.Nested(ctx) // as the execution of a pipeline does
			shipping.failed(ctx)
			// A breaker's transition is nobody's execution: only its context tells.
			shipping.nested = false
			shipping.transition(ctx, 1, events.StateClosed, events.StateOpen, events.ReasonRatio)
			return nil
		}
		detach := MustAttach(bus, Config{Handler: h, Skip: func(e events.Event) bool {
			return SkipStarts(e) || e.EventName() == "source.added" || e.EventName() == "config.warning" // two of one name
		}, Buffered: buffered})
		newPipeline(bus).rejected(context.Background())
		detach()
		if got := h.messages(); len(got) != 2 || shipped != 2 {
			t.Errorf("buffered %d: got %q, shipped %d", buffered, got, shipped)
		}
	}
}

// BUS-11
func TestNestedEventsAreIgnoredWhateverTheirContext(t *testing.T) {
	bus, h := events.NewBus(), debugRecorder()
	p := newPipeline(bus)
	p.nested = true
	MustAttach(bus, Config{Handler: h, Skip: func(e events.Event) bool { return e.EventName() == "source.added" }})
	p.failed(context.Background())
	if got := h.messages(); got != nil {
		t.Errorf("got %q", got)
	}
}
