package resilience

import "context"

// newBreaking is a breaker at its place in a pipeline: what newGating makes of other gates, without the detours that a
// closed breaker does not need.
func newBreaking[T any](build *builder[T], g *gating, b *Breaker, next Next[T]) Next[T] {
	discard, prompt := build.discard, build.promptInside(g.position)
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
			call.timed = false // who was told of a change may have taken their time
		}
		inside := true
		defer func() {
			if inside {
				b.Settle(ctx, call, permit, neverReturned)
			}
		}()
		v, err = next(ctx, call, op)
		inside = false
		if err == nil && !call.holds() {
			at := int64(unknown)
			if prompt && call.observed() {
				at = call.rec.ended
			}
			if b.succeeded(permit, at) {
				return v, nil
			}
		}
		settle(ctx, g, call, permit, discard, v, err)
		return v, err
	}
}

// promptInside tells whether a call returns from what is inside a layer as soon as its last attempt has ended, if it
// succeeds.
func (b *builder[T]) promptInside(position int) bool {
	for _, l := range b.cfg.Layers[position+1:] {
		switch l := l.(type) {
		case Retry:
		case Timeout:
			if l.Abandon {
				return false
			}
		case *Breaker, *Bulkhead, *RateLimiter:
		default:
			return false
		}
	}
	return true
}
