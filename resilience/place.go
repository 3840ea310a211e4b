package resilience

import (
	"context"

	"github.com/telltale-go/telltale/events"
)

// place is where a layer stands: in a pipeline, or alone.
type place struct {
	bus      *events.Bus
	source   *events.Source
	name     string
	position int
	// key is that of a gate of a Keyed, which keyed tells: its events have it, whatever the call's is.
	key   string
	keyed bool
}

// meta returns what an event carries that a gate at this place tells in a call.
func (p place) meta(call Call) events.Meta {
	m := call.meta(p.source, call.Attempt())
	if p.keyed {
		m.Key = p.key
	}
	return m
}

// recoverCallback is deferred around a function of the user's: its panic is published, and the call goes on.
func (p place) recoverCallback(ctx context.Context, call Call, callback string) {
	if v := recover(); v != nil {
		p.panicked(ctx, call, callback, v)
	}
}

func (p place) panicked(ctx context.Context, call Call, callback string, value any) {
	if p.bus.CallbackPanicked.Heard() {
		p.bus.CallbackPanicked.Publish(ctx, events.CallbackPanicked{Meta: p.meta(call), Callback: callback, Value: value})
	}
}

// refused publishes that a gate refused the call, and returns the error that goes out for what the gate said.
func (p place) refused(ctx context.Context, call Call, err error) error {
	switch e := err.(type) {
	case *BreakerOpenError:
	case *LimitedError:
		if e.Layer == "" {
			named := *e
			named.Layer = p.name
			err = &named
		}
	default:
		if ctx.Err() != nil {
			return canceled(ctx, err) // it waited for its turn
		}
		limited := &LimitedError{Layer: p.name, Reason: events.ReasonShed, Err: err}
		if inner, ok := refusalIn(err); ok {
			r := inner.refusal()
			limited.Reason, limited.After = r.reason, r.retryAfter
		}
		err = limited
	}
	heard := p.bus.CallRejected.Heard()
	if !heard && !call.observed() {
		return err
	}
	r := err.(interface{ refusal() refusal }).refusal()
	call.decide(r.reason, p.source)
	if heard {
		p.bus.CallRejected.Publish(ctx, events.CallRejected{Meta: call.meta(p.source, call.Attempt()),
			Reason: r.reason, RetryAfter: r.retryAfter, StateSeq: r.stateSeq, Err: err})
	}
	return err
}
