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
	case *AdaptiveLimiter:
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
	discard := b.discard
	switch gate := gate.(type) {
	case *Breaker:
		return newBreaking(g, gate, next, discard)
	case *Bulkhead:
		if b.cfg.Hold == nil {
			return newPooling(g, gate, next)
		}
	case *RateLimiter:
		if b.cfg.Hold == nil {
			return newRating(g, gate, next)
		}
	case *Keyed:
		g.keyed = true
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
			return v, g.refused(ctx, call.keyedBy(permit), err)
		}
		at := running
		defer func() {
			if at != returned {
				cutShort(ctx, g, call, permit, at, discard, v, err)
			}
		}()
		v, err = next(ctx, call, op)
		at = landed
		outcome := Outcome{Kind: Succeeded}
		if err != nil {
			outcome = g.outcome(ctx, call, permit, err) // it asks a function of the user's, which may end the goroutine
		}
		later := call.holds() && !g.settlesEarly(permit) && delivers(err)
		if limiter, ok := g.decider(permit).(*AdaptiveLimiter); ok && later { // what its reader takes says nothing of the dependency
			seen := permit
			permit = Permit{keyed: seen.keyed} // all that is left to do is to let go
			limiter.measured(ctx, call, seen, outcome)
		}
		at = settled
		if later {
			g.settleLater(ctx, call, permit, outcome)
		} else {
			gate.Settle(ctx, call, permit, outcome) // its handlers may end the goroutine
		}
		at = returned
		return v, err
	}
}

// newPooling is newGating without what a bulkhead does not need.
func newPooling[T any](g *gating, pool *Bulkhead, next Next[T]) Next[T] {
	permits := &pool.permits
	return func(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
		if !permits.take() {
			if _, err = g.admitted(ctx, call); err != nil {
				return v, g.refused(ctx, call.stale(), err)
			}
			call = call.stale()
		}
		defer permits.leave()
		return next(ctx, call, op)
	}
}

// newRating is newGating without what a rate limiter does not need.
func newRating[T any](g *gating, limiter *RateLimiter, next Next[T]) Next[T] {
	return func(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
		if !call.timed { // by itself, for speed: a method would copy the call
			call.now, call.timed = now(), true
		}
		if !limiter.rating.Load().takeAtOnce(call.now) {
			call = call.stale()
			if _, err = g.admitted(ctx, call); err != nil {
				return v, g.refused(ctx, call, err)
			}
		}
		return next(ctx, call, op)
	}
}

// asksFailureIf tells whether PipelineConfig.FailureIf decides for the gate: those that do not ask how calls end, and a
// breaker with a predicate of its own, do not need it.
func asksFailureIf(gate Gate) bool {
	switch gate := gate.(type) {
	case *Breaker:
		return gate.failureIf() == nil
	case *Bulkhead, *RateLimiter:
		return false
	}
	return true
}

// decider returns the gate that let the call through: of a Keyed, or of one inside it, the gate of the call's key.
func (g *gating) decider(permit Permit) Gate {
	gate, keyed := g.gate, g.keyed
	for e := permit.keyed; keyed; e = e.inner {
		gate = e.gate
		_, keyed = gate.(*Keyed)
	}
	return gate
}

// settlesEarly tells whether the outcome falls when the call returns, in a pipeline that holds its values.
func (g *gating) settlesEarly(permit Permit) bool {
	if !g.keyed {
		return g.early
	}
	own := ours(g.decider(permit))
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

// outcome judges how the call ended. The error alone cannot tell: what counts is what ended the context.
func (g *gating) outcome(ctx context.Context, call Call, permit Permit, err error) Outcome {
	o := outcomeOf(ctx, err)
	if o.Kind == Failed && g.counts != nil && (!g.keyed || asksFailureIf(g.decider(permit))) && !g.isFailure(ctx, call, o.Err) {
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
