package otelres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// follow publishes a leader's call with a follower's inside, and returns the leader's span as each adapter has it.
func (r *rig) follow(flights *events.Source) {
	of := events.Meta{Source: layer(flights, events.TypeSingleflight)}
	r.execution(context.Background(), flights, events.ExecutionFinished{Outcome: events.OutcomeSuccess, Attempts: 1}, func(leaders context.Context) {
		r.bus.FlightJoined.Publish(leaders, events.FlightJoined{Meta: of, Role: events.FlightLeader})
		r.execution(context.Background(), flights, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
			r.bus.FlightJoined.Publish(ctx, events.FlightJoined{Meta: of, Role: events.FlightFollower, LeaderContext: leaders})
		})
	})
}

// mustLink asserts that the first span that ended, the follower's, links to the last, its leader's, and not the other way.
func mustLink(t *testing.T, name string, ended []sdktrace.ReadOnlySpan) {
	t.Helper()
	follower, leader := ended[0], ended[len(ended)-1]
	links := follower.Links()
	if len(links) != 1 || links[0].SpanContext.SpanID() != leader.SpanContext().SpanID() || links[0].SpanContext.TraceID() != leader.SpanContext().TraceID() {
		t.Errorf("%s: the follower's links are %v, want one to %v", name, links, leader.SpanContext().SpanID())
	}
	if n := len(leader.Links()); n != 0 {
		t.Errorf("%s: the leader has %d links", name, n)
	}
}

// OTEL-01: a follower's span links to its leader's, that of its own SDK, whether or not there are span events.
func TestAFollowersSpanLinksToItsLeaders(t *testing.T) {
	r := newRig(t, func(c *otelres.Config) { c.OmitSpanEvents = true })
	other := r.attachMore(1, new(order))[0]
	r.follow(r.pipeline("profiles", events.TypeSingleflight))
	mustLink(t, "first", r.spans.Ended())
	mustLink(t, "second", other.Ended())
	for role, want := range map[string]float64{"leader": 1, "follower": 1} {
		if got := r.value("resilience.singleflight.calls", "resilience.pipeline.name", "profiles", "resilience.singleflight.role", role); got != want {
			t.Errorf("%s = %v, want %v", role, got, want)
		}
	}
}

// A leader without a span of the adapter's is linked by the span that was current.
func TestAFollowerOfALeaderThatBeganBeforeAttachLinksToItsSpan(t *testing.T) {
	r := newRig(t)
	leaders, caller := r.tracers.Tracer("test").Start(context.Background(), "caller")
	flights := r.pipeline("profiles", events.TypeSingleflight)
	join := func(leaders context.Context) {
		r.execution(context.Background(), flights, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
			r.bus.FlightJoined.Publish(ctx, events.FlightJoined{Meta: events.Meta{Source: layer(flights, events.TypeSingleflight)},
				Role: events.FlightFollower, LeaderContext: leaders})
		})
	}
	join(leaders)
	join(context.Background())
	ended := r.spans.Ended()
	if links := ended[0].Links(); len(links) != 1 || links[0].SpanContext.SpanID() != caller.SpanContext().SpanID() {
		t.Errorf("links %v, want one to the caller's span", links)
	}
	if links := ended[1].Links(); len(links) != 0 {
		t.Errorf("links %v to a leader that has no span", links)
	}
}

// OTEL-01, OTEL-02: a hedge's loser ends when its own run has, also after the call; it is canceled and no error.
func TestALoserEndsWhenItIsSettled(t *testing.T) {
	r := newRig(t)
	p := r.pipeline("profiles", events.TypeHedge)
	var loser events.Ends[events.AttemptFinished]
	of := events.Meta{Source: p, Execution: 1, Attempt: 1}
	r.execution(context.Background(), p, events.ExecutionFinished{Outcome: events.OutcomeSuccess, Attempts: 2}, func(ctx context.Context) {
		r.bus.Attempt.Begin(ctx, events.AttemptStarted{Meta: of, Kind: events.AttemptInitial}, &loser)
		r.attempt(ctx, p, 2, 0, events.AttemptFinished{Kind: events.AttemptHedge, Outcome: events.OutcomeSuccess}, nil)
	})
	if n := len(r.spans.Ended()); n != 2 {
		t.Fatalf("%d spans ended with the call, want its own and the winner's", n)
	}
	loser.Finish(events.AttemptFinished{Meta: of, Kind: events.AttemptInitial, Outcome: events.OutcomeCanceled, Err: context.Canceled})
	execution, last := r.ended("profiles"), r.spans.Ended()[2]
	got := attributesOf(last)
	if last.Parent().SpanID() != execution.SpanContext().SpanID() || last.Status().Code != codes.Unset ||
		got["resilience.outcome"] != "canceled" || got["error.type"] != "" || got["resilience.retry.delay_s"] != "" {
		t.Errorf("the loser's span is %v %v", last.Status(), got)
	}
	if got := attributesOf(r.spans.Ended()[0]); got["resilience.attempt.kind"] != "hedge" {
		t.Errorf("the winner's span is %v, want a hedge's", got)
	}
}

// OTEL-02: a call that a fallback answered is no error; what it answered for is told.
func TestACallAnsweredByAFallbackIsNoError(t *testing.T) {
	r := newRig(t)
	p := r.pipeline("profiles", events.TypeFallback)
	r.execution(context.Background(), p, events.ExecutionFinished{Outcome: events.OutcomeFallback, Err: errDown, Attempts: 1}, func(ctx context.Context) {
		r.bus.FallbackUsed.Publish(ctx, events.FallbackUsed{Meta: events.Meta{Source: layer(p, events.TypeFallback)}, Outcome: events.OutcomeFallback, Cause: class("503")})
	})
	s := r.ended("profiles")
	if got := attributesOf(s); s.Status().Code != codes.Unset || got["resilience.outcome"] != "fallback" || got["error.type"] != "" {
		t.Errorf("the span is %v %v, want no error", s.Status(), got)
	}
	if e := s.Events(); len(e) != 1 || e[0].Name != "resilience.fallback.used" {
		t.Errorf("span events %v, want the fallback's", e)
	}
}

// Which pipelines are told is the program's choice; what pipelines share is told in any case.
func TestPipelinesCanBeLeftOut(t *testing.T) {
	asked := map[string]int{}
	r := newRig(t, func(c *otelres.Config) {
		c.Pipelines = func(name string) bool { asked[name]++; return name != "health" }
	})
	users, health := r.pipeline("users.get", events.TypeRetry), r.pipeline("health", events.TypeRetry, events.TypeTimeout)
	r.breaker("db", func() events.BreakerReading { return events.BreakerReading{State: events.StateClosed} })
	r.execution(context.Background(), users, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
		before := spanID(ctx)
		r.execution(ctx, health, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
			if spanID(ctx) != before {
				t.Error("the context was derived for a pipeline that is left out")
			}
			r.attempt(ctx, health, 1, 0, events.AttemptFinished{Outcome: events.OutcomeSuccess}, nil)
			r.bus.TimedOut.Publish(ctx, events.TimedOut{Meta: events.Meta{Source: layer(health, events.TypeTimeout)}})
		})
	})
	if got := names(r.spans.Ended()); len(got) != 1 || len(r.ended("users.get").Events()) != 0 {
		t.Errorf("spans %v with %d events, want that of users.get without any", got, len(r.ended("users.get").Events()))
	}
	all := r.collect()
	for name := range all {
		for set := range seriesOf(all[name]) {
			if strings.Contains(set, "health") {
				t.Errorf("%s is told of the pipeline that is left out", name)
			}
		}
	}
	if n := len(seriesOf(all["resilience.executions"])); n != 5 {
		t.Errorf("%d series of executions, want the five of users.get", n)
	}
	if got := r.value("resilience.circuit_breaker.state", "resilience.layer.name", "db", "resilience.circuit_breaker.state", "closed"); got != 1 {
		t.Errorf("the breaker is not told")
	}
	if asked[""] != 0 || asked["users.get"] != 2 || asked["health"] != 3 {
		t.Errorf("asked %v, want once a pipeline and once a layer", asked)
	}
}

// Spans of a remote caller cannot be compared with ==, as those of some providers.
func TestARemoteCallersSpanIsTheParentForEveryAdapter(t *testing.T) {
	r := newRig(t)
	other := tracetest.NewSpanRecorder()
	ctx := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true}))
	t.Cleanup(otelres.MustAttach(r.bus, otelres.Config{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(other))}))
	users := r.pipeline("users.get")
	r.succeed(ctx, users)
	for i, spans := range []*tracetest.SpanRecorder{r.spans, other} {
		if n := len(spans.Ended()); n != 2 || spans.Ended()[1].Parent().SpanID() != (trace.SpanID{2}) {
			t.Errorf("SDK %d: %d spans; the execution's parent is not the remote caller's", i, n)
		}
	}
	if n := r.bus.HandlerPanics(); n != 0 {
		t.Errorf("%d handlers panicked", n)
	}
}
