package otelres_test

import (
	"context"
	"slices"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// order notes the ends of spans, whichever SDK has them.
type order struct{ ended []string }

func (o *order) of(sdk string) sdktrace.SpanProcessor { return noting{o, sdk} }

type noting struct {
	*order
	sdk string
}

func (n noting) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (n noting) OnEnd(s sdktrace.ReadOnlySpan)                   { n.ended = append(n.ended, n.sdk+" "+s.Name()) }
func (n noting) Shutdown(context.Context) error                  { return nil }
func (n noting) ForceFlush(context.Context) error                { return nil }

// sdks are further adapters on a rig's bus, each with an SDK of its own.
func (r *rig) attachMore(n int, o *order) (all []*tracetest.SpanRecorder) {
	for i := range n {
		spans := tracetest.NewSpanRecorder()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans), sdktrace.WithSpanProcessor(o.of(string('B'+rune(i)))))
		r.t.Cleanup(otelres.MustAttach(r.bus, otelres.Config{TracerProvider: provider, MeterProvider: noop.NewMeterProvider()}))
		all = append(all, spans)
	}
	return all
}

// tree writes the ended spans of one SDK, each with the name of its parent: "caller" for the caller's span, "?" for one that
// the SDK does not have.
func tree(spans *tracetest.SpanRecorder, caller trace.SpanID) (all []string) {
	byID := map[trace.SpanID]string{caller: "caller"}
	for _, s := range spans.Started() {
		byID[s.SpanContext().SpanID()] = s.Name()
	}
	for _, s := range spans.Ended() {
		parent, ok := byID[s.Parent().SpanID()]
		if !ok {
			parent = "?"
		}
		all = append(all, s.Name()+" < "+parent)
	}
	slices.Sort(all)
	return all
}

// OTEL-01, BUS-07: each of several adapters on one bus gets its complete trees: no span has a parent that only another
// SDK has; a span of the program's in between stays the parent. They end in reverse order.
func TestSeveralAdaptersGetCompleteTreesEach(t *testing.T) {
	o := new(order)
	r := newRig(t, func(c *otelres.Config) {
		c.TracerProvider.(*sdktrace.TracerProvider).RegisterSpanProcessor(o.of("A"))
	})
	others := r.attachMore(2, o)
	outer, inner := r.pipeline("outer", events.TypeRetry), r.pipeline("inner", events.TypeRetry)
	ctx, caller := r.tracers.Tracer("test").Start(context.Background(), "caller")
	r.execution(ctx, outer, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
		r.attempt(ctx, outer, 1, 0, events.AttemptFinished{Outcome: events.OutcomeFailure, Err: errDown}, nil)
		r.attempt(ctx, outer, 2, 0, events.AttemptFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
			r.execution(ctx, inner, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
				r.attempt(ctx, inner, 1, 0, events.AttemptFinished{Outcome: events.OutcomeSuccess}, nil)
			})
		})
	})
	id := caller.SpanContext().SpanID()
	want := []string{"inner < outer attempt", "inner attempt < inner", "outer < caller", "outer attempt < outer", "outer attempt < outer"}
	for i, spans := range append(others, r.spans) {
		if got := tree(spans, id); !slices.Equal(got, want) {
			t.Errorf("SDK %d has\n%q, want\n%q", i, got, want)
		}
	}
	wantOrder := []string{"C outer attempt", "B outer attempt", "A outer attempt",
		"C inner attempt", "B inner attempt", "A inner attempt", "C inner", "B inner", "A inner",
		"C outer attempt", "B outer attempt", "A outer attempt", "C outer", "B outer", "A outer"}
	if !slices.Equal(o.ended, wantOrder) {
		t.Errorf("ended in the order %q", o.ended)
	}
}

// OTEL-01: a span that the program makes between the call and its attempt is their parent, for every adapter.
func TestTheProgramsSpanStaysTheParent(t *testing.T) {
	r := newRig(t)
	others := r.attachMore(1, new(order))
	users := r.pipeline("users.get", events.TypeRetry)
	var own trace.Span
	r.execution(context.Background(), users, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
		ctx, own = r.tracers.Tracer("test").Start(ctx, "own")
		r.attempt(ctx, users, 1, 0, events.AttemptFinished{Outcome: events.OutcomeSuccess}, nil)
		own.End()
	})
	for i, spans := range append(others, r.spans) {
		for _, s := range spans.Ended() {
			if s.Name() == "users.get attempt" && s.Parent().SpanID() != own.SpanContext().SpanID() {
				t.Errorf("SDK %d: the attempt is no child of the program's span", i)
			}
			if s.Name() == "users.get" && s.Parent().IsValid() {
				t.Errorf("SDK %d: the execution has a parent, though its caller has no span", i)
			}
		}
	}
}

// One adapter that samples nothing does not break the trees of another.
func TestAnAdapterThatSamplesNothingIsNoParent(t *testing.T) {
	r := newRig(t, func(c *otelres.Config) {
		c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	})
	other := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(other), sdktrace.WithSampler(sdktrace.AlwaysSample()))
	t.Cleanup(otelres.MustAttach(r.bus, otelres.Config{TracerProvider: provider, MeterProvider: noop.NewMeterProvider()}))
	users := r.pipeline("users.get", events.TypeRetry)
	r.succeed(context.Background(), users)
	if got, want := tree(other, trace.SpanID{}), []string{"users.get < caller", "users.get attempt < users.get"}; !slices.Equal(got, want) {
		t.Errorf("spans %q, want %q", got, want)
	}
}
