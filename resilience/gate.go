package resilience

import (
	"context"
	"time"
)

// ownGate is a gate of this package.
type ownGate interface {
	Gate
	// waits tells whether Admit may wait.
	waits() bool
	// early tells whether the outcome falls when the call returns, also in a pipeline that holds its values.
	early(judgeOnReturn bool) bool
}

// ours returns a gate of this package, nil for others. A type of the user's that embeds one is another: it may override
// Admit and Settle.
func ours(gate Gate) ownGate {
	switch g := gate.(type) {
	case *Breaker:
		return g
	case *Bulkhead:
		return g
	case *RateLimiter:
		return g
	case *Keyed:
		return g
	}
	return nil
}

// gating is a gate at its place in a pipeline.
type gating struct {
	place
	gate   Gate
	waits  bool
	early  bool
	counts func(error) bool // PipelineConfig.FailureIf where the gate has no predicate of its own
	keyed  bool             // the gate is a Keyed, whose gates may differ
	judge  bool             // PipelineConfig.JudgeOnReturn
}

func newGating[T any](b *builder[T], at place, gate Gate, next Next[T]) Next[T] {
	g := &gating{place: at, gate: gate, waits: true, counts: b.cfg.FailureIf, judge: b.cfg.JudgeOnReturn}
	if own := ours(gate); own != nil {
		g.waits, g.early = own.waits(), own.early(b.cfg.JudgeOnReturn)
	}
	if !asksFailureIf(gate) {
		g.counts = nil
	}
	_, g.keyed = gate.(*Keyed)
	return func(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
		var permit Permit
		if g.waits {
			permit, err = g.admitted(ctx, call)
			call = call.stale()
		} else {
			permit, err = gate.Admit(ctx, call)
		}
		if err != nil {
			return v, g.refused(ctx, call.keyedBy(permit), err)
		}
		settled := false
		defer func() {
			if !settled {
				gate.Settle(ctx, call, permit, Outcome{Kind: NotReturned, Err: errNotReturned})
			}
		}()
		v, err = next(ctx, call, op)
		outcome := Outcome{Kind: Succeeded}
		if err != nil {
			outcome = g.outcome(ctx, call, permit, err) // it asks a function of the user's, which may end the goroutine
		}
		settled = true
		if call.holds() && !g.settlesEarly(permit) && delivers(err) {
			g.settleLater(ctx, call, permit, outcome)
		} else {
			gate.Settle(ctx, call, permit, outcome)
		}
		return v, err
	}
}

// asksFailureIf tells whether PipelineConfig.FailureIf decides for the gate: those that do not ask how calls end, and a
// breaker with a predicate of its own, do not need it.
func asksFailureIf(gate Gate) bool {
	switch gate := gate.(type) {
	case *Breaker:
		return gate.failureIf == nil
	case *Bulkhead, *RateLimiter:
		return false
	}
	return true
}

// settlesEarly tells whether the outcome falls when the call returns, in a pipeline that holds its values.
func (g *gating) settlesEarly(permit Permit) bool {
	if !g.keyed {
		return g.early
	}
	own := ours(permit.keyed.gate)
	return own != nil && own.early(g.judge)
}

// keyedBy returns the call as the events of a Keyed's refusals show it.
func (c Call) keyedBy(permit Permit) Call {
	if permit.keyed != nil && permit.keyed.key != "" {
		c.key = permit.keyed.key
	}
	return c
}

// admitted asks a gate that may wait, and notes how long it did.
func (g *gating) admitted(ctx context.Context, call Call) (Permit, error) {
	if !call.observed() {
		return g.gate.Admit(ctx, call)
	}
	began := now()
	permit, err := g.gate.Admit(ctx, call)
	call.rec.queued += time.Duration(now() - began)
	return permit, err
}

// settleLater settles a call when its value is released.
func (g *gating) settleLater(ctx context.Context, call Call, permit Permit, outcome Outcome) {
	call.onRelease(func(late error) {
		defer func() { g.gate.Settle(ctx, call, permit, outcome) }() // also if what follows ends the goroutine
		if late != nil && outcome.Kind == Succeeded {
			outcome = g.outcome(ctx, call, permit, late)
		}
	})
}

// outcome judges how the call ended. The error alone cannot tell: what counts is what ended the context.
func (g *gating) outcome(ctx context.Context, call Call, permit Permit, err error) Outcome {
	o := outcomeOf(ctx, err)
	if o.Kind == Failed && g.counts != nil && (!g.keyed || asksFailureIf(permit.keyed.gate)) && !g.isFailure(ctx, call, o.Err) {
		o.Kind = Ignored
	}
	return o
}

func (g *gating) isFailure(ctx context.Context, call Call, err error) (yes bool) {
	yes = true
	defer g.recoverCallback(ctx, call, "PipelineConfig.FailureIf")
	return g.counts(err)
}

// outcomeOf judges how a call with this context ended, by what it returned.
func outcomeOf(ctx context.Context, err error) Outcome {
	failure, _ := seen(err)
	if failure == nil {
		return Outcome{Kind: Succeeded}
	}
	if didNotReturn(failure) {
		return Outcome{Kind: NotReturned, Err: failure}
	}
	if _, refused := failure.(*refusedRetry); refused {
		return Outcome{Kind: Failed, Err: failure} // an attempt had failed before
	}
	if _, refused := refusalIn(failure); refused {
		return Outcome{Kind: Rejected, Err: failure}
	}
	if ctx.Err() != nil && !endedByTimeout(ctx) {
		return Outcome{Kind: Canceled, Err: failure}
	}
	return Outcome{Kind: Failed, Err: failure}
}
