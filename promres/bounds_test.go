package promres

import (
	"context"
	"fmt"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// PROM-02
func TestErrorTypesAreBoundedPerPipelineName(t *testing.T) {
	r := newRig(t, Config{})
	one, two := r.pipeline("users"), r.pipeline("users")
	for i := range 40 {
		s := one
		if i%2 == 1 {
			s = two
		}
		attempt(r.bus, s, failed(events.AttemptInitial, 1, classed(fmt.Sprintf("class_%d", i))))
	}
	attempt(r.bus, one, failed(events.AttemptInitial, 1, nil))
	if names := r.named("attempt_failures_total"); len(names) != 11 {
		t.Errorf("%d error types, want 10 and _OTHER: %v", len(names), names)
	}
	r.want(map[string]float64{`attempt_failures_total{error_type="_OTHER",pipeline_name="users"}`: 31})
}

type classed string

func (c classed) Error() string     { return "secret" }
func (c classed) ErrorType() string { return string(c) }

// PROM-02: what an enum does not have, and what is not UTF-8, cannot break a scrape or make series without bound.
func TestStrangeValuesBecomeOneSeries(t *testing.T) {
	r := newRig(t, Config{})
	p := r.pipeline("us\xffers", "cus\xfftom")
	for i := range 200 {
		call(r.bus, p, events.ExecutionFinished{Outcome: events.Outcome(50 + i)}, events.AttemptFinished{Kind: events.AttemptKind(50 + i), Outcome: events.Outcome(50 + i)})
		r.bus.CallRejected.Publish(context.Background(), events.CallRejected{Meta: events.Meta{Source: p.Layers()[0]}, Reason: events.Reason(50 + i)})
	}
	attempt(r.bus, p, failed(events.AttemptInitial, 1, classed("\xfe")))
	r.want(map[string]float64{
		`executions_total{outcome="_OTHER",pipeline_name="us�ers"}`:                     200,
		`attempts_total{attempt_kind="_OTHER",outcome="_OTHER",pipeline_name="us�ers"}`: 200,
		`rejections_total{layer_name="cus�tom",pipeline_name="us�ers",reason="_OTHER"}`: 200,
		`attempt_failures_total{error_type="�",pipeline_name="us�ers"}`:                 1,
	})
	if n := r.bus.HandlerPanics(); n != 0 {
		t.Errorf("%d handlers panicked", n)
	}
}
