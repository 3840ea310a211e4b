package resilience

import "context"

// newBreaking is a breaker at its place in a pipeline: what newGating makes of other gates, without the detours that a
// closed breaker does not need.
func newBreaking[T any](g *gating, b *Breaker, next Next[T], discard func(context.Context, Call, T)) Next[T] {
	return func(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
		var permit Permit
		fast, admitted := b.fast.Load(), false
		if fast&fastAdmits != 0 {
			permit.Token, admitted = int64(fast>>fastGen), true
		} else if fast&fastFlies != 0 {
			if permit, admitted = b.tookOff(); admitted {
				call.now, call.timed = permit.Start, true
			}
		}
		if !admitted {
			if r := b.refuses(g.bus.CallRejected.Heard() || call.observed()); r != nil {
				return v, r // as below, but nobody is to be told
			}
			if permit, err = b.admitSlowly(ctx, call); err != nil {
				return v, g.refused(ctx, call, err)
			}
		}
		at := running
		defer func() {
			if at != returned {
				cutShort(ctx, g, call, permit, at, discard, v, err)
			}
		}()
		v, err = next(ctx, call, op)
		if err == nil && call.rec == nil && b.succeeded(permit) {
			at = returned
			return v, nil
		}
		at = landed
		outcome := Outcome{Kind: Succeeded}
		if err != nil {
			outcome = g.outcome(ctx, call, permit, err) // it asks a function of the user's, which may end the goroutine
		}
		at = settled
		if call.holds() && !g.early && delivers(err) {
			g.settleLater(ctx, call, permit, outcome)
		} else {
			b.Settle(ctx, call, permit, outcome) // its handlers may end the goroutine
		}
		at = returned
		return v, err
	}
}
