package resilience

import (
	"context"
	"sync/atomic"

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
	at := now()
	if r := b.refusal.Load(); r != nil {
		switch {
		case r.State == events.StateForcedOpen, r.State == events.StateOpen && at-r.until < 0:
			return Permit{}, r
		}
	}
	b.mu.Lock()
	gen, ok, made := b.machine.admit(at)
	b.unlock(ctx, call, made)
	if !ok {
		if r := b.refusal.Load(); r != nil {
			return Permit{}, r
		}
		return Permit{}, &BreakerOpenError{Name: b.cfg.Name, State: events.StateHalfOpen} // it was closed meanwhile
	}
	return Permit{Token: int64(gen), Start: at}, nil
}

// Settle implements [Gate].
func (b *Breaker) Settle(permit Permit, outcome Outcome) {
	b.settle(context.Background(), Call{}, permit, outcome)
}

// settle is Settle for a call that is known.
func (b *Breaker) settle(ctx context.Context, call Call, permit Permit, outcome Outcome) {
	switch outcome.Kind {
	case OutcomeSucceeded:
		if b.fast.Load() == uint64(permit.Token)<<8|uint64(events.StateClosed)<<1|1 {
			return
		}
		b.count(ctx, call, permit, endedWell, outcome)
	case OutcomeFailed:
		if b.failureIf == nil {
			b.count(ctx, call, permit, endedBadly, outcome)
			return
		}
		e := endedBadly // also if FailureIf panics or ends the goroutine
		defer func() { b.count(ctx, call, permit, e, outcome) }()
		if !b.isFailure(ctx, call, outcome.Err) {
			e = endedIgnored
		}
	case OutcomeNotReturned:
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
	b.unlock(ctx, call, made)
	if late && b.place.bus.LateResult.Heard() {
		b.place.bus.LateResult.Publish(ctx, events.LateResult{Meta: call.meta(b.place.source, call.Attempt()),
			Outcome: lateOutcome(outcome), Err: outcome.Err})
	}
}

func lateOutcome(o Outcome) events.Outcome {
	switch o.Kind {
	case OutcomeSucceeded:
		return events.OutcomeSuccess
	case OutcomeRefused:
		return events.OutcomeRejected
	case OutcomeCanceled:
		return events.OutcomeCanceled
	}
	return events.OutcomeFailure
}

func (b *Breaker) waits() bool { return false }

func (b *Breaker) early(judgeOnReturn bool) bool { return judgeOnReturn }

// Run calls op if the breaker lets it: the breaker alone, without a pipeline. The error is op's, a *BreakerOpenError, or a *CanceledError when ctx has
// ended.
func (b *Breaker) Run(ctx context.Context, op func(ctx context.Context) error) error {
	return runAlone(ctx, b, b.place, op)
}

// Acquire asks the breaker for one call in two steps: the caller releases the lease with how the call ended.
func (b *Breaker) Acquire(ctx context.Context) (*Lease, error) { return acquire(ctx, b, b.place) }

// Lease is a call that was admitted. It is safe for concurrent use.
type Lease struct {
	ctx     context.Context // of the call: its end tells a cancellation from a failure
	gate    knowingGate
	call    Call
	permit  Permit
	settled atomic.Bool
}

// Release tells how the call ended: nil is a success. The first Release counts; later ones do nothing. An error after the context given to
// Acquire has ended is the caller's cancellation.
func (l *Lease) Release(err error) {
	if l.settled.CompareAndSwap(false, true) {
		l.gate.settle(l.ctx, l.call, l.permit, outcomeOf(l.ctx, err))
	}
}

func acquire(ctx context.Context, gate knowingGate, at place) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, canceled(ctx, nil)
	}
	call := Call{attempt: 1}
	permit, err := gate.Admit(ctx, call)
	if err != nil {
		return nil, at.refused(ctx, call, err)
	}
	return &Lease{ctx: ctx, gate: gate, call: call, permit: permit}, nil
}

func runAlone(ctx context.Context, gate knowingGate, at place, op func(ctx context.Context) error) (err error) {
	if op == nil {
		return errNilOperation
	}
	if ctx.Err() != nil {
		return canceled(ctx, nil)
	}
	call := Call{attempt: 1}
	permit, err := gate.Admit(ctx, call)
	if err != nil {
		return at.refused(ctx, call, err)
	}
	settled := false
	defer func() {
		if !settled {
			gate.settle(ctx, call, permit, Outcome{Kind: OutcomeNotReturned, Err: errNotReturned})
		}
	}()
	err = op(ctx)
	settled = true
	gate.settle(ctx, call, permit, outcomeOf(ctx, err))
	if err != nil {
		err = outgoing(ctx, err)
	}
	return err
}
