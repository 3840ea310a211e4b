package resilience

import (
	"context"
	"time"
)

// knowingGate is a gate of ours that wants to know whose call it settles, for its events.
type knowingGate interface {
	Gate
	settle(ctx context.Context, call Call, permit Permit, outcome Outcome)
	// waits tells whether Admit may wait.
	waits() bool
	// early tells whether the outcome falls when the call returns, also in a pipeline that holds its values.
	early(judgeOnReturn bool) bool
}

// gating is a gate at its place in a pipeline.
type gating struct {
	place
	gate    Gate
	knowing knowingGate // the same, if it is ours
	waits   bool
	early   bool
	counts  func(error) bool // PipelineConfig.If where the gate has no predicate of its own
}

func newGating[T any](b *builder[T], at place, gate Gate, next Next[T]) Next[T] {
	g := &gating{place: at, gate: gate, waits: true, counts: b.cfg.If}
	if k, ok := gate.(knowingGate); ok {
		g.knowing, g.waits, g.early = k, k.waits(), k.early(b.cfg.JudgeOnReturn)
	}
	if breaker, ok := gate.(*Breaker); ok && breaker.failureIf != nil {
		g.counts = nil
	}
	return func(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
		permit, err := g.admit(ctx, &call)
		if err != nil {
			return v, err
		}
		settled := false
		defer func() {
			if !settled {
				g.settle(ctx, call, permit, Outcome{Kind: OutcomeNotReturned, Err: errNotReturned})
			}
		}()
		v, err = next(ctx, call, op)
		settled = true
		if err == nil && !call.holds() {
			g.settle(ctx, call, permit, Outcome{Kind: OutcomeSucceeded})
			return v, nil
		}
		g.conclude(ctx, call, permit, err)
		return v, err
	}
}

// admit asks the gate; call's reading of the clock is stale if the gate may have waited.
func (g *gating) admit(ctx context.Context, call *Call) (Permit, error) {
	if !g.waits {
		permit, err := g.gate.Admit(ctx, *call)
		if err != nil {
			err = g.refused(ctx, *call, err)
		}
		return permit, err
	}
	var began int64
	if call.observed() {
		began = now()
	}
	permit, err := g.gate.Admit(ctx, *call)
	*call = call.stale()
	if call.observed() {
		call.rec.queued += time.Duration(now() - began)
	}
	if err != nil {
		err = g.refused(ctx, *call, err)
	}
	return permit, err
}

// conclude settles a call that returned, at once, or when its value is released.
func (g *gating) conclude(ctx context.Context, call Call, permit Permit, err error) {
	outcome := g.outcome(ctx, call, err)
	failure, failingValue := seen(err)
	if !call.holds() || g.early || failure != nil && !failingValue {
		g.settle(ctx, call, permit, outcome)
		return
	}
	call.onRelease(func(late error) {
		if late != nil && outcome.Kind == OutcomeSucceeded {
			outcome = g.outcome(ctx, call, late)
		}
		g.settle(ctx, call, permit, outcome)
	})
}

func (g *gating) settle(ctx context.Context, call Call, permit Permit, outcome Outcome) {
	if g.knowing != nil {
		g.knowing.settle(ctx, call, permit, outcome)
		return
	}
	g.gate.Settle(permit, outcome)
}

// outcome judges how the call ended. The error alone cannot tell: what counts is what ended the context.
func (g *gating) outcome(ctx context.Context, call Call, err error) Outcome {
	o := outcomeOf(ctx, err)
	if o.Kind == OutcomeFailed && g.counts != nil && !g.isFailure(ctx, call, o.Err) {
		o.Kind = OutcomeExcluded
	}
	return o
}

func (g *gating) isFailure(ctx context.Context, call Call, err error) (yes bool) {
	yes = true
	defer g.recoverCallback(ctx, call, "PipelineConfig.If")
	return g.counts(err)
}

// outcomeOf judges how a call with this context ended, by what it returned.
func outcomeOf(ctx context.Context, err error) Outcome {
	failure, _ := seen(err)
	if failure == nil {
		return Outcome{Kind: OutcomeSucceeded}
	}
	if _, refused := failure.(*refusedRetry); refused {
		return Outcome{Kind: OutcomeFailed, Err: failure} // an attempt had failed before
	}
	if _, refused := refusalIn(failure); refused {
		return Outcome{Kind: OutcomeRefused, Err: failure}
	}
	if ctx.Err() != nil && !endedByTimeout(ctx) {
		return Outcome{Kind: OutcomeCanceled, Err: failure}
	}
	return Outcome{Kind: OutcomeFailed, Err: failure}
}
