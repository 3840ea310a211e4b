package resilience

import (
	"context"
	"sync/atomic"
)

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
	outcome := Outcome{Kind: OutcomeNotReturned, Err: errNotReturned}
	defer func() { gate.settle(ctx, call, permit, outcome) }()
	err = op(ctx)
	outcome = outcomeOf(ctx, err)
	if err != nil {
		err = outgoing(ctx, err)
	}
	return err
}
