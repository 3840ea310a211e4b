package resilience

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Lease is a call that was admitted. It is safe for concurrent use.
type Lease struct {
	ctx     context.Context // of the call: its end tells a cancellation from a failure
	gate    Gate
	call    Call
	permit  Permit
	settled atomic.Bool
}

// Release tells how the call ended: nil is a success. The first Release counts; later ones do nothing. An error after
// the context given to Acquire has ended is the caller's cancellation. To defer it, use Done: the arguments of a
// deferred Release are evaluated too early.
func (l *Lease) Release(err error) { l.settle(outcomeOf(l.ctx, err)) }

// Done is Release for a deferred call: it looks at the error when the function ends. A panic counts as a failure and
// goes on; a runtime.Goexit cannot be told from a return. A nil err is that of a function that cannot fail.
//
//	func pay(ctx context.Context) (err error) {
//		lease, err := breaker.Acquire(ctx)
//		if err != nil {
//			return err
//		}
//		defer lease.Done(&err)
func (l *Lease) Done(err *error) {
	if v := recover(); v != nil {
		l.settle(neverReturned)
		panic(v)
	}
	if err == nil {
		err = new(error)
	}
	l.Release(*err)
}

func (l *Lease) settle(outcome Outcome) {
	if l.settled.CompareAndSwap(false, true) {
		l.gate.Settle(l.ctx, l.call, l.permit, outcome)
	}
}

func acquire(ctx context.Context, gate Gate, at place) (*Lease, error) {
	return acquireCall(ctx, gate, at, Call{attempt: 1})
}

func acquireCall(ctx context.Context, gate Gate, at place, call Call) (*Lease, error) {
	if at.bus == nil {
		return nil, errNotMade(gate)
	}
	if ctx == nil {
		return nil, errNilContext
	}
	if ctx.Err() != nil {
		return nil, canceled(ctx, nil)
	}
	permit, err := gate.Admit(ctx, call)
	if err != nil {
		return nil, at.refused(ctx, call, err)
	}
	return &Lease{ctx: ctx, gate: gate, call: call, permit: permit}, nil
}

// runAlone runs op through one gate. Where that is done inside of a pipeline, in an Around, op's error has the
// pipeline's marks, and keeps them.
func runAlone(ctx context.Context, gate Gate, at place, op func(ctx context.Context) error) error {
	return runCall(ctx, gate, at, Call{attempt: 1}, op)
}

func runCall(ctx context.Context, gate Gate, at place, call Call, op func(ctx context.Context) error) (err error) {
	if at.bus == nil {
		return errNotMade(gate)
	}
	if op == nil {
		return errNilOperation
	}
	if ctx == nil {
		return errNilContext
	}
	if ctx.Err() != nil {
		return canceled(ctx, nil)
	}
	permit, err := gate.Admit(ctx, call)
	if err != nil {
		return at.refused(ctx, call, err)
	}
	outcome := neverReturned
	defer func() { gate.Settle(ctx, call, permit, outcome) }()
	err = op(ctx)
	outcome = outcomeOf(ctx, err)
	if _, marked := err.(*verdict); marked || err == nil {
		return err
	}
	return outgoing(ctx, err)
}

// errNotMade is the error of a zero gate of this package.
func errNotMade(gate Gate) error {
	return fmt.Errorf("resilience: the %T was not made by its constructor", gate)
}
