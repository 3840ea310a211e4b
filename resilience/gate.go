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

// ours returns a gate of this package, nil for others. A type of the user's that embeds one is another: it may override
// Admit and Settle.
func ours(gate Gate) knowingGate {
	switch g := gate.(type) {
	case *Breaker:
		return g
	case *Bulkhead:
		return g
	}
	return nil
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
	if k := ours(gate); k != nil {
		g.knowing, g.waits, g.early = k, k.waits(), k.early(b.cfg.JudgeOnReturn)
	}
	switch gate := gate.(type) {
	case *Breaker:
		if gate.failureIf != nil {
			g.counts = nil
		}
	case *Bulkhead: // it does not ask how calls end
		g.counts = nil
	}
	return func(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
		var permit Permit
		if g.waits {
			permit, err = g.admitted(ctx, call)
			call = call.stale()
		} else {
			permit, err = gate.Admit(ctx, call)
		}
		if err != nil {
			return v, g.refused(ctx, call, err)
		}
		settled := false
		defer func() {
			if !settled {
				g.settle(ctx, call, permit, Outcome{Kind: OutcomeNotReturned, Err: errNotReturned})
			}
		}()
		v, err = next(ctx, call, op)
		outcome := Outcome{Kind: OutcomeSucceeded}
		if err != nil {
			outcome = g.outcome(ctx, call, err) // it asks a function of the user's, which may end the goroutine
		}
		settled = true
		if call.holds() && !g.early && delivers(err) {
			g.settleLater(ctx, call, permit, outcome)
		} else {
			g.settle(ctx, call, permit, outcome)
		}
		return v, err
	}
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
		defer func() { g.settle(ctx, call, permit, outcome) }() // also if what follows ends the goroutine
		if late != nil && outcome.Kind == OutcomeSucceeded {
			outcome = g.outcome(ctx, call, late)
		}
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
	if _, panicked := find[*PanicError](failure); panicked {
		return Outcome{Kind: OutcomeNotReturned, Err: failure} // as without RecoverPanics
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
