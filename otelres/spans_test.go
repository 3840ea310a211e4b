package otelres_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

var errDown = errors.New("secret text")

// OTEL-01
func TestExecutionSpanHasAttemptSpansAndTheyHaveWhatTheOperationStarts(t *testing.T) {
	r := newRig(t)
	users := r.pipeline("users.get", events.TypeRetry)
	ctx, caller := r.tracers.Tracer("test").Start(context.Background(), "caller")
	r.execution(ctx, users, events.ExecutionFinished{Outcome: events.OutcomeSuccess, Attempts: 2}, func(ctx context.Context) {
		for n := 1; n <= 2; n++ {
			r.attempt(ctx, users, n, 0, events.AttemptFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
				_, s := r.tracers.Tracer("client").Start(ctx, "GET "+string('0'+rune(n)))
				s.End()
			})
		}
	})
	caller.End()

	execution := r.ended("users.get")
	if execution.Parent().SpanID() != caller.SpanContext().SpanID() {
		t.Errorf("the execution's parent is %v, want the caller's span", execution.Parent().SpanID())
	}
	if k := execution.SpanKind(); k != trace.SpanKindInternal {
		t.Errorf("the execution's kind is %v, want internal", k)
	}
	attempts := map[trace.SpanID]string{}
	for _, s := range r.spans.Ended() {
		if s.Name() == "users.get attempt" {
			if s.Parent().SpanID() != execution.SpanContext().SpanID() {
				t.Errorf("an attempt's parent is %v, want the execution", s.Parent().SpanID())
			}
			attempts[s.SpanContext().SpanID()] = attributesOf(s)["resilience.attempt.number"]
		}
	}
	if len(attempts) != 2 {
		t.Fatalf("%d attempt spans, want 2", len(attempts))
	}
	for n, name := range map[string]string{"1": "GET 1", "2": "GET 2"} {
		if got := attempts[r.ended(name).Parent().SpanID()]; got != n {
			t.Errorf("%s is a child of attempt %q, want %s", name, got, n)
		}
	}
}

// OTEL-01: attempts that overlap, as hedges do, are siblings, and each ends on its own.
func TestOverlappingAttemptsAreSiblings(t *testing.T) {
	r := newRig(t)
	users := r.pipeline("users.get", events.TypeRetry)
	r.execution(context.Background(), users, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
		r.attempt(ctx, users, 1, 0, events.AttemptFinished{Outcome: events.OutcomeCanceled}, func(context.Context) {
			r.attempt(ctx, users, 2, 0, events.AttemptFinished{Outcome: events.OutcomeSuccess}, nil)
			if n := len(r.spans.Ended()); n != 1 {
				t.Errorf("%d spans ended with the winner, want 1: the loser's is still open", n)
			}
		})
	})
	execution := r.ended("users.get")
	for _, s := range r.spans.Ended() {
		if s.Name() == "users.get attempt" && s.Parent().SpanID() != execution.SpanContext().SpanID() {
			t.Errorf("attempt %s is no child of the execution", attributesOf(s)["resilience.attempt.number"])
		}
	}
}

// OTEL-01: leaving out attempt spans where only one attempt is possible is an option.
func TestSingleAttemptsCanBeLeftOut(t *testing.T) {
	r := newRig(t, func(c *otelres.Config) { c.OmitSingleAttempts = true })
	once, retried := r.pipeline("once", events.TypeTimeout), r.pipeline("retried", events.TypeTimeout, events.TypeRetry)
	var inOnce trace.SpanID
	r.execution(context.Background(), once, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
		r.attempt(ctx, once, 1, 0, events.AttemptFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) { inOnce = spanID(ctx) })
	})
	r.succeed(context.Background(), retried)

	r.ended("retried attempt")
	if n := len(r.spans.Ended()); n != 3 {
		t.Errorf("spans %v, want once, retried attempt, retried", names(r.spans.Ended()))
	}
	if want := r.ended("once").SpanContext().SpanID(); inOnce != want {
		t.Errorf("the operation runs in span %v, want the execution's", inOnce)
	}
	if got := r.value("resilience.attempts", "resilience.pipeline.name", "once", "resilience.attempt.kind", "initial",
		"resilience.outcome", "success"); got != 1 {
		t.Errorf("attempts = %v, want 1: what has no span is counted", got)
	}
}

// OTEL-02
func TestOnlyTheFailedAttemptOfARecoveredExecutionIsAnError(t *testing.T) {
	r := newRig(t)
	users := r.pipeline("users.get", events.TypeRetry)
	r.execution(context.Background(), users, events.ExecutionFinished{Outcome: events.OutcomeSuccess, Attempts: 2}, func(ctx context.Context) {
		r.attempt(ctx, users, 1, 0, events.AttemptFinished{Outcome: events.OutcomeFailure, Err: errDown}, nil)
		r.attempt(ctx, users, 2, time.Second, events.AttemptFinished{Outcome: events.OutcomeSuccess}, nil)
	})
	want := map[string]codes.Code{"1": codes.Error, "2": codes.Unset}
	for _, s := range r.spans.Ended() {
		if n := attributesOf(s)["resilience.attempt.number"]; n != "" && s.Status().Code != want[n] {
			t.Errorf("attempt %s has status %v, want %v", n, s.Status().Code, want[n])
		}
	}
	if c := r.ended("users.get").Status().Code; c != codes.Unset {
		t.Errorf("the execution has status %v, want unset", c)
	}
}

// OTEL-02, BUS-12: failures are errors described by their type, never by their text; cancellation is none.
func TestStatusFollowsTheOutcome(t *testing.T) {
	for outcome, want := range map[events.Outcome]sdktrace.Status{
		events.OutcomeSuccess:  {},
		events.OutcomeCanceled: {},
		events.OutcomeFailure:  {Code: codes.Error, Description: "_OTHER"},
		events.OutcomeRejected: {Code: codes.Error, Description: "_OTHER"},
		events.OutcomeTimeout:  {Code: codes.Error, Description: "_OTHER"},
	} {
		r := newRig(t)
		users := r.pipeline("users.get")
		err := errDown
		if outcome == events.OutcomeSuccess {
			err = nil
		}
		r.execution(context.Background(), users, events.ExecutionFinished{Outcome: outcome, Err: err}, func(ctx context.Context) {
			r.attempt(ctx, users, 1, 0, events.AttemptFinished{Outcome: outcome, Err: err}, nil)
		})
		for _, name := range []string{"users.get", "users.get attempt"} {
			s := r.ended(name)
			if s.Status() != want {
				t.Errorf("%s %s: status %+v, want %+v", outcome, name, s.Status(), want)
			}
			if got := attributesOf(s)["error.type"]; got != want.Description {
				t.Errorf("%s %s: error.type %q, want %q", outcome, name, got, want.Description)
			}
			if got := attributesOf(s)["resilience.outcome"]; got != outcome.String() {
				t.Errorf("%s %s: outcome %q", outcome, name, got)
			}
		}
	}
}

func TestSpanOfAnExecutionTellsWhoDecided(t *testing.T) {
	r := newRig(t)
	users := r.pipeline("users.get", events.TypeRetry, events.TypeBreaker)
	r.execution(context.Background(), users, events.ExecutionFinished{
		Outcome: events.OutcomeRejected, Reason: events.ReasonOpen, Layer: layer(users, events.TypeBreaker), Err: errDown}, nil)
	want := map[string]string{
		"resilience.pipeline.name": "users.get", "resilience.outcome": "rejected", "resilience.execution.attempts": "0",
		"resilience.reason": "open", "resilience.layer.name": "circuit_breaker", "error.type": "_OTHER",
	}
	if got := attributesOf(r.ended("users.get")); !maps.Equal(got, want) {
		t.Errorf("attributes %v, want %v", got, want)
	}
}

// The execution's span takes the events, whatever span the user has made current.
func TestSpanEventsFindTheExecution(t *testing.T) {
	r := newRig(t)
	users := r.pipeline("users.get", events.TypeRetry, events.TypeTimeout)
	r.execution(context.Background(), users, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
		ctx, own := r.tracers.Tracer("test").Start(ctx, "user's")
		defer own.End()
		r.bus.TimedOut.Publish(ctx, events.TimedOut{Meta: events.Meta{Source: layer(users, events.TypeTimeout)}})
		r.bus.RetryScheduled.Publish(ctx, events.RetryScheduled{Meta: events.Meta{Source: layer(users, events.TypeRetry), Attempt: 1}, Err: errDown})
	})
	if n := len(r.ended("user's").Events()); n != 0 {
		t.Errorf("the user's span has %d events, want none", n)
	}
	var got []string
	for _, e := range r.ended("users.get").Events() {
		got = append(got, e.Name)
	}
	if len(got) != 2 || got[0] != "resilience.timeout.fired" || got[1] != "resilience.retry.scheduled" {
		t.Errorf("events %v, want timeout.fired and retry.scheduled", got)
	}
}

func TestEachOfTwoAdaptersHasItsOwnSpanEvents(t *testing.T) {
	r := newRig(t)
	other := tracetest.NewSpanRecorder()
	detach := otelres.MustAttach(r.bus, otelres.Config{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(other)), MeterProvider: noop.NewMeterProvider()})
	defer detach()
	users := r.pipeline("users.get", events.TypeTimeout)
	r.execution(context.Background(), users, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
		r.bus.TimedOut.Publish(ctx, events.TimedOut{Meta: events.Meta{Source: layer(users, events.TypeTimeout)}})
	})
	if n := len(r.ended("users.get").Events()); n != 1 {
		t.Errorf("the first adapter's span has %d events, want 1", n)
	}
	if n := len(other.Ended()[0].Events()); n != 1 {
		t.Errorf("the second adapter's span has %d events, want 1", n)
	}
}

func TestSpanEventsCanBeLeftOut(t *testing.T) {
	r := newRig(t, func(c *otelres.Config) { c.OmitSpanEvents = true })
	users := r.pipeline("users.get", events.TypeTimeout)
	r.execution(context.Background(), users, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
		r.bus.TimedOut.Publish(ctx, events.TimedOut{Meta: events.Meta{Source: layer(users, events.TypeTimeout)}})
	})
	if n := len(r.ended("users.get").Events()); n != 0 {
		t.Errorf("%d span events, want none", n)
	}
}

// BUS-11: what a subscriber itself calls is not told.
func TestNestedCallsAreIgnored(t *testing.T) {
	r := newRig(t)
	exporter := r.pipeline("exporter", events.TypeRetry, events.TypeTimeout)
	ctx := events.Nest(context.Background())
	r.succeed(ctx, exporter)
	meta := events.Meta{Source: layer(exporter, events.TypeTimeout), Nested: true}
	r.bus.TimedOut.Publish(ctx, events.TimedOut{Meta: meta})
	if n := len(r.spans.Started()); n != 0 {
		t.Errorf("%d spans, want none", n)
	}
	for _, name := range []string{"resilience.executions", "resilience.attempts", "resilience.timeouts"} {
		for set, v := range seriesOf(r.collect()[name]) {
			if v != 0 {
				t.Errorf("%s{%s} = %v, want 0", name, set, v)
			}
		}
	}
}

// looks is a sampler that takes everything, and keeps what it was shown.
type looks struct{ saw map[string]string }

func (l looks) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	for _, a := range p.Attributes {
		l.saw[p.Name+" "+string(a.Key)] += a.Value.String() + " "
	}
	return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
}

func (looks) Description() string { return "looks" }

// OTEL-01: what a sampler can decide by; the kind and number of the first attempt come at its end, whatever its outcome.
func TestASamplerSeesThePipelineAndThatAnAttemptIsARetry(t *testing.T) {
	sampler := looks{map[string]string{}}
	r := newRig(t, func(c *otelres.Config) { c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler)) })
	users := r.pipeline("users.get", events.TypeRetry)
	r.execution(context.Background(), users, events.ExecutionFinished{Outcome: events.OutcomeSuccess, Attempts: 2}, func(ctx context.Context) {
		r.attempt(ctx, users, 1, 0, events.AttemptFinished{Outcome: events.OutcomeFailure, Err: errDown}, nil)
		r.attempt(ctx, users, 2, 0, events.AttemptFinished{Outcome: events.OutcomeSuccess}, nil)
	})
	want := map[string]string{"users.get resilience.pipeline.name": "users.get ", "users.get attempt resilience.attempt.kind": "retry "}
	if !maps.Equal(sampler.saw, want) {
		t.Errorf("a sampler saw %v, want %v", sampler.saw, want)
	}
}

// OTEL-01
func TestTheFirstAttemptHasItsKindAndNumberWhateverItsOutcome(t *testing.T) {
	for _, outcome := range events.AttemptOutcomes() {
		r := newRig(t)
		users := r.pipeline("users.get", events.TypeRetry)
		r.execution(context.Background(), users, events.ExecutionFinished{Outcome: outcome, Attempts: 1, Err: errDown}, func(ctx context.Context) {
			r.attempt(ctx, users, 1, 0, events.AttemptFinished{Outcome: outcome, Err: errDown}, nil)
		})
		got := attributesOf(r.ended("users.get attempt"))
		if got["resilience.attempt.kind"] != "initial" || got["resilience.attempt.number"] != "1" || got["resilience.outcome"] != outcome.String() {
			t.Errorf("%v: %v", outcome, got)
		}
	}
}
