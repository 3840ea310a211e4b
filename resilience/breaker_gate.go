package resilience

import (
	"context"
	"fmt"

	"github.com/telltale-go/telltale/events"
)

// Admit implements [Gate]: it lets the call through or refuses with a *BreakerOpenError. It never waits.
func (b *Breaker) Admit(ctx context.Context, call Call) (Permit, error) {
	fast := b.fast.Load()
	if stateIn(fast) == events.StateClosed {
		return Permit{Token: int64(fast >> 8)}, nil
	}
	return b.admitSlowly(ctx, call)
}

func (b *Breaker) admitSlowly(ctx context.Context, call Call) (Permit, error) {
	if r := b.refusal.Load(); r != nil && (r.State == events.StateForcedOpen || r.RetryAfter() > 0) {
		return Permit{}, r
	}
	b.mu.Lock()
	at := now()
	gen, ok, made := b.machine.admit(at)
	b.enter(ctx, call, made)
	if !ok {
		r := b.refusal.Load() // of the state that refuses
		b.unlock(made)
		return Permit{}, r
	}
	permit := Permit{Token: int64(gen), Start: at}
	published := made == nil
	defer func() {
		if !published { // a handler ends the goroutine
			b.count(ctx, call, permit, endedIgnored, Outcome{Kind: Canceled})
		}
	}()
	b.unlock(made)
	published = true
	return permit, nil
}

// Settle implements [Gate].
func (b *Breaker) Settle(ctx context.Context, call Call, permit Permit, outcome Outcome) {
	switch outcome.Kind {
	case Succeeded:
		if b.fast.Load() == uint64(permit.Token)<<8|uint64(events.StateClosed)<<1|1 {
			return
		}
		b.count(ctx, call, permit, endedWell, outcome)
	case Failed:
		if b.failureIf == nil {
			b.count(ctx, call, permit, endedBadly, outcome)
			return
		}
		e := endedBadly // also if FailureIf panics or ends the goroutine
		defer func() { b.count(ctx, call, permit, e, outcome) }()
		if !b.isFailure(ctx, call, outcome.Err) {
			e = endedIgnored
		}
	case NotReturned:
		b.count(ctx, call, permit, endedBadly, outcome)
	default:
		b.count(ctx, call, permit, endedIgnored, outcome)
	}
}

func (b *Breaker) isFailure(ctx context.Context, call Call, err error) (yes bool) {
	yes = true
	defer b.place.recoverCallback(ctx, call, "BreakerConfig.FailureIf")
	return b.failureIf(err)
}

func (b *Breaker) count(ctx context.Context, call Call, permit Permit, e ending, outcome Outcome) {
	b.mu.Lock()
	made, late := b.machine.settle(uint32(permit.Token), permit.Start, e, outcome.Err, now())
	b.enter(ctx, call, made)
	b.unlock(made)
	if late && b.place.bus.LateResult.Heard() {
		b.place.bus.LateResult.Publish(ctx, events.LateResult{Meta: b.place.meta(call),
			Outcome: lateOutcome(outcome), Err: outcome.Err})
	}
}

func lateOutcome(o Outcome) events.Outcome {
	switch o.Kind {
	case Succeeded:
		return events.OutcomeSuccess
	case Rejected:
		return events.OutcomeRejected
	case Canceled:
		return events.OutcomeCanceled
	}
	return events.OutcomeFailure
}

func (b *Breaker) waits() bool { return false }

func (b *Breaker) early(judgeOnReturn bool) bool { return judgeOnReturn }

// String returns the breaker's name and state.
func (b *Breaker) String() string {
	return fmt.Sprintf("circuit breaker %s (%v)", b.cfg.Name, b.State())
}

// Run calls op if the breaker lets it: the breaker alone, without a pipeline. The error is op's, a *BreakerOpenError,
// or a *CanceledError when ctx has ended.
func (b *Breaker) Run(ctx context.Context, op func(ctx context.Context) error) error {
	return runAlone(ctx, b, b.place, op)
}

// Acquire asks the breaker for one call in two steps: the caller releases the lease with how the call ended. The error
// is a *BreakerOpenError, or a *CanceledError when ctx has ended. A lease of a half-open breaker that is never released
// blocks a probe until MaxProbeTime.
func (b *Breaker) Acquire(ctx context.Context) (*Lease, error) { return acquire(ctx, b, b.place) }
