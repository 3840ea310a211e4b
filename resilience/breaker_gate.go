package resilience

import (
	"context"
	"fmt"

	"github.com/telltale-go/telltale/events"
)

// uncounted is the token of a call that a breaker in shadow mode would have refused.
const uncounted = -1

// Admit implements [Gate]: it lets the call through or refuses with a *BreakerOpenError. It never waits.
func (b *Breaker) Admit(ctx context.Context, call Call) (Permit, error) {
	fast := b.fast.Load()
	if fast&fastAdmits != 0 {
		return Permit{Token: int64(fast >> fastGen)}, nil
	}
	if fast&fastFlies != 0 {
		if permit, ok := b.tookOff(); ok {
			return permit, nil
		}
	}
	return b.admitSlowly(ctx, call)
}

func (b *Breaker) admitSlowly(ctx context.Context, call Call) (Permit, error) {
	if r := b.refuses(false); r != nil {
		return Permit{}, r
	}
	b.lock()
	at := now()
	gen, ok, made := b.machine.admit(at)
	b.enter(ctx, call, made)
	if !ok {
		r := b.refusal.Load() // of the state that refuses
		b.unlock(made)
		return b.refused(ctx, call, r)
	}
	permit := Permit{Token: int64(gen), Start: at}
	if made == nil {
		b.unlock(nil)
		return permit, nil
	}
	published := false
	defer func() {
		if !published { // a handler ends the goroutine
			b.count(ctx, call, permit, endedIgnored, Outcome{Kind: Canceled})
		}
	}()
	b.unlock(made)
	published = true
	return permit, nil
}

// refuses returns the refusal of a breaker that is open for some time to come, nil if the machine has to be asked, or if
// unless is true. It takes no lock.
func (b *Breaker) refuses(unless bool) *BreakerOpenError {
	r := b.refusal.Load()
	if r == nil || unless || b.machine.rules.shadow {
		return nil
	}
	if r.State == events.StateForcedOpen {
		return r
	}
	if left := r.until - now(); left > 0 && left <= int64(r.cooldown) { // as in cooling
		return r
	}
	return nil
}

// refused refuses the call. In shadow mode it lets it through, and only tells.
func (b *Breaker) refused(ctx context.Context, call Call, r *BreakerOpenError) (Permit, error) {
	if !b.machine.rules.shadow {
		return Permit{}, r
	}
	if b.bus.ShadowRejected.Heard() {
		why := r.refusal()
		b.bus.ShadowRejected.Publish(ctx, events.ShadowRejected{Meta: b.place().meta(call),
			Reason: why.reason, RetryAfter: why.retryAfter})
	}
	return Permit{Token: uncounted}, nil
}

// Settle implements [Gate].
func (b *Breaker) Settle(ctx context.Context, call Call, permit Permit, outcome Outcome) {
	if outcome.Kind == Succeeded && b.succeeded(permit, unknown) || permit.Token == uncounted {
		return
	}
	if fast := b.fast.Load(); stateIn(fast) == events.StateDisabled && int64(fast>>fastGen) == permit.Token {
		return // and nobody is asked what counts
	}
	switch outcome.Kind {
	case Succeeded:
		b.count(ctx, call, permit, endedWell, outcome)
	case Failed:
		if b.failureIf() == nil {
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
	case Canceled:
		b.count(ctx, call, permit, givenUp(ctx), outcome)
	default:
		b.count(ctx, call, permit, endedIgnored, outcome)
	}
}

// givenUp tells why a call was canceled by its context, which no Timeout of ours ended: that were a failure.
func givenUp(ctx context.Context) ending {
	switch {
	case context.Cause(ctx) == errLost: // a sibling has answered
		return endedIgnored
	case ctx.Err() == context.DeadlineExceeded:
		return endedByDeadline
	}
	return endedCanceled
}

// failureIf is the breaker's own predicate, nil if it has none.
func (b *Breaker) failureIf() func(error) bool {
	if b.extras == nil {
		return nil
	}
	return b.extras.failureIf
}

func (b *Breaker) isFailure(ctx context.Context, call Call, err error) (yes bool) {
	yes = true
	defer b.place().recoverCallback(ctx, call, "BreakerConfig.FailureIf")
	return b.extras.failureIf(err)
}

func (b *Breaker) count(ctx context.Context, call Call, permit Permit, e ending, outcome Outcome) {
	b.lock()
	made, late := b.machine.settle(uint32(permit.Token), permit.Start, e, outcome.Err, now())
	b.enter(ctx, call, made)
	b.unlock(made)
	if late && b.bus.LateResult.Heard() {
		b.bus.LateResult.Publish(ctx, events.LateResult{Meta: b.place().meta(call),
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

// String returns the breaker's name and state, and whether it is in shadow mode.
func (b *Breaker) String() string {
	mode := ""
	if b.source != nil && b.machine.rules.shadow {
		mode = ", shadow"
	}
	return fmt.Sprintf("circuit breaker %s (%v%s)", b.Name(), b.State(), mode)
}

// Run calls op if the breaker lets it: the breaker alone, without a pipeline. The error is op's, a *BreakerOpenError,
// or a *CanceledError when ctx has ended. An operation with a result wants a [Pipeline] or, now and then, [Do].
func (b *Breaker) Run(ctx context.Context, op func(ctx context.Context) error) error {
	return runAlone(ctx, b, b.place(), op)
}

// Acquire asks the breaker for one call in two steps: the caller releases the lease with how the call ended. The error
// is a *BreakerOpenError, or a *CanceledError when ctx has ended. A lease of a half-open breaker that is never released
// blocks a probe until MaxProbeTime.
func (b *Breaker) Acquire(ctx context.Context) (*Lease, error) { return acquire(ctx, b, b.place()) }
