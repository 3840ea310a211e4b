package otelres_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// dependency is a server behind a fake wire. Each request takes the next of what it is to do.
type dependency struct {
	todo         []func(*http.Request) (*http.Response, error)
	traceparents []string
}

func (d *dependency) RoundTrip(r *http.Request) (*http.Response, error) {
	d.traceparents = append(d.traceparents, r.Header.Get("traceparent"))
	do := d.todo[0]
	d.todo = d.todo[1:]
	return do(r)
}

func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

func refuses(*http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED }

func answers(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// users is a real pipeline whose operation is a request through otelhttp.
type users struct {
	*rig
	*dependency
	client   *http.Client
	pipeline *resilience.Pipeline[int]
}

func newUsers(t *testing.T) *users {
	u := &users{rig: newRig(t), dependency: new(dependency)}
	u.client = &http.Client{Transport: otelhttp.NewTransport(u.dependency, otelhttp.WithTracerProvider(u.tracers),
		otelhttp.WithMeterProvider(noop.NewMeterProvider()), otelhttp.WithPropagators(propagation.TraceContext{}))}
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "users-db", ConsecutiveFailures: 3, Cooldown: 10 * time.Second, Bus: u.bus})
	u.pipeline = resilience.MustPipeline(resilience.PipelineConfig[int]{
		Name: "users.get", Bus: u.bus,
		Layers: []resilience.Layer{
			resilience.Timeout{Name: "total", After: 2 * time.Second},
			resilience.Retry{MaxAttempts: 3, Backoff: resilience.Constant(50 * time.Millisecond)},
			db,
			resilience.Timeout{Name: "each", After: 100 * time.Millisecond},
		},
	})
	return u
}

func (u *users) call(ctx context.Context, todo ...func(*http.Request) (*http.Response, error)) error {
	u.todo = todo
	_, err := u.pipeline.Do(ctx, func(ctx context.Context) (int, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://users.internal/1", nil)
		if err != nil {
			return 0, err
		}
		response, err := u.client.Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	})
	if len(u.todo) > 0 {
		u.t.Errorf("%d requests were not made", len(u.todo))
	}
	return err
}

// children returns the ended spans under a parent, in the order of their starts.
func (u *users) children(parent sdktrace.ReadOnlySpan) (all []sdktrace.ReadOnlySpan) {
	for _, s := range u.spans.Started() {
		if s.Parent().SpanID() == parent.SpanContext().SpanID() {
			all = append(all, s)
		}
	}
	return all
}

func (u *users) executions() (all []sdktrace.ReadOnlySpan) {
	for _, s := range u.spans.Started() {
		if s.Name() == "users.get" {
			all = append(all, s)
		}
	}
	return all
}

// OTEL-01, OTEL-02: a real pipeline, and the HTTP client's span under its attempt. The trace that the server sees is
// that of the client's span of that attempt.
func TestEachAttemptsRequestIsUnderItsAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUsers(t)
		if err := u.call(t.Context(), hangs, refuses, answers); err != nil {
			t.Fatal(err)
		}
		execution := u.ended("users.get")
		attempts := u.children(execution)
		if len(attempts) != 3 {
			t.Fatalf("%d attempts, want 3: %v", len(attempts), names(u.spans.Ended()))
		}
		want := []struct {
			status        codes.Code
			outcome, kind string
			errorType     string
			delay         string
		}{
			{codes.Error, "timeout", "initial", "timeout", ""},
			{codes.Error, "failure", "retry", "connection_refused", "0.05"},
			{codes.Unset, "success", "retry", "", "0.05"},
		}
		for i, s := range attempts {
			got := attributesOf(s)
			if s.Status().Code != want[i].status || got["resilience.outcome"] != want[i].outcome || got["resilience.attempt.kind"] != want[i].kind ||
				got["error.type"] != want[i].errorType || got["resilience.retry.delay_s"] != want[i].delay {
				t.Errorf("attempt %d is %v %v, want %+v", i+1, s.Status(), got, want[i])
			}
			requests := u.children(s)
			if len(requests) != 1 || requests[0].SpanKind() != trace.SpanKindClient {
				t.Fatalf("under attempt %d are %v, want the client's span", i+1, names(requests))
			}
			sc := requests[0].SpanContext()
			if want := "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-01"; u.traceparents[i] != want {
				t.Errorf("request %d carried %q, want %q", i+1, u.traceparents[i], want)
			}
		}
		if c := execution.Status().Code; c != codes.Unset {
			t.Errorf("the execution's status is %v, want unset: it was healed", c)
		}
		if d := execution.EndTime().Sub(execution.StartTime()); d != 200*time.Millisecond {
			t.Errorf("the execution's span lasts %v, want a timeout and two delays", d)
		}
	})
}

// OTEL-04: what a real outage looks like on the spans: the events stand on the execution in which they happened.
func TestAnOutageIsToldOnTheSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUsers(t)
		if err := u.call(t.Context(), refuses, refuses, refuses); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatal(err)
		}
		if err := u.call(t.Context()); !errors.Is(err, resilience.ErrBreakerOpen) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if err := u.call(t.Context(), answers); err != nil {
			t.Fatal(err)
		}
		executions := u.executions()
		if len(executions) != 3 {
			t.Fatalf("%d executions, want 3", len(executions))
		}
		for i, want := range [][]string{
			{"resilience.retry.scheduled", "resilience.retry.scheduled", "resilience.circuit_breaker.state_changed", "resilience.retry.stopped"},
			{"resilience.call.rejected", "resilience.retry.stopped"},
			{"resilience.circuit_breaker.state_changed", "resilience.circuit_breaker.state_changed"},
		} {
			var got []string
			for _, e := range executions[i].Events() {
				got = append(got, e.Name)
			}
			if !slices.Equal(got, want) {
				t.Errorf("events of call %d are %v, want %v", i+1, got, want)
			}
		}
		rejected := attributesOf(executions[1])
		if rejected["resilience.outcome"] != "rejected" || rejected["resilience.reason"] != "open" || rejected["resilience.layer.name"] != "users-db" ||
			rejected["error.type"] != "breaker_open" || len(u.children(executions[1])) != 0 {
			t.Errorf("the rejected call is %v with %d attempts", rejected, len(u.children(executions[1])))
		}
	})
}

// PROM-04: the counters of a real run agree with its events, and the state with the breaker.
func TestMetricsAgreeWithARealRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUsers(t)
		finished, attempts := 0, 0
		u.bus.Execution.Observe(func(context.Context, events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
			return nil, func(events.ExecutionFinished) { finished++ }
		})
		u.bus.Attempt.Observe(func(context.Context, events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
			return nil, func(events.AttemptFinished) { attempts++ }
		})
		state := func(name string) float64 {
			return u.value("resilience.circuit_breaker.state", "resilience.layer.name", "users-db", "resilience.circuit_breaker.state", name)
		}
		_ = u.call(t.Context(), hangs, refuses, answers)
		if state("closed") != 1 {
			t.Error("the breaker does not show as closed")
		}
		_ = u.call(t.Context(), refuses, refuses, refuses)
		_ = u.call(t.Context())
		if state("open") != 1 || state("closed") != 0 {
			t.Error("the breaker does not show as open")
		}
		time.Sleep(10 * time.Second)
		canceled, cancel := context.WithCancel(t.Context())
		_ = u.call(canceled, func(r *http.Request) (*http.Response, error) { cancel(); return hangs(r) })
		_ = u.call(t.Context(), answers)

		sum := func(name string) (n int) {
			for _, v := range seriesOf(u.collect()[name]) {
				n += int(v)
			}
			return n
		}
		for name, want := range map[string]int{
			"resilience.executions":                  finished,
			"resilience.execution.duration":          finished,
			"resilience.attempts":                    attempts,
			"resilience.attempt.duration":            attempts,
			"resilience.rejections":                  1,
			"resilience.timeouts":                    1,
			"resilience.circuit_breaker.transitions": 3, // open, half-open, closed
			"resilience.execution.active":            0,
		} {
			if got := sum(name); got != want {
				t.Errorf("%s sums to %d, want %d", name, got, want)
			}
		}
		if got := u.value("resilience.execution.wait.time", "resilience.pipeline.name", "users.get", "resilience.wait.kind", "backoff"); got != 0.2 {
			t.Errorf("backoff = %v s, want four times 50 ms", got)
		}
		if got := u.value("resilience.circuit_breaker.state.time", "resilience.layer.name", "users-db", "resilience.circuit_breaker.state", "open"); got != 10 {
			t.Errorf("open for %v s, want 10", got)
		}
		if got := u.value("resilience.executions", "resilience.pipeline.name", "users.get", "resilience.outcome", "canceled"); got != 1 {
			t.Errorf("canceled = %v, want 1", got)
		}
	})
}
