package resilience

import "context"

// newBreaking is a breaker at its place in a pipeline: what newGating makes of other gates, without the detours that a
// closed breaker does not need.
func newBreaking[T any](g *gating, b *Breaker, next Next[T]) Next[T] {
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
		settled := false
		defer func() {
			if !settled {
				b.Settle(ctx, call, permit, Outcome{Kind: NotReturned, Err: errNotReturned})
			}
		}()
		v, err = next(ctx, call, op)
		if err == nil && call.rec == nil && b.succeeded(permit) {
			settled = true
			return v, nil
		}
		outcome := Outcome{Kind: Succeeded}
		if err != nil {
			outcome = g.outcome(ctx, call, permit, err) // it asks a function of the user's, which may end the goroutine
		}
		settled = true
		if call.holds() && !g.early && delivers(err) {
			g.settleLater(ctx, call, permit, outcome)
		} else {
			b.Settle(ctx, call, permit, outcome)
		}
		return v, err
	}
}
