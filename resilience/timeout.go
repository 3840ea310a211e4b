package resilience

import (
	"context"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/events"
)

// Timeout is a layer that ends the context of what is inside it after a while. Outside a Retry it limits the whole
// call, inside it each attempt. It is cooperative: the call returns when the operation does, unless Abandon is set. It
// keeps nothing between calls.
type Timeout struct {
	// Name tells the layer apart in telemetry and in errors; empty means "timeout". Give two in one pipeline their names, such
	// as "total" and "attempt": else they are told apart by their position (see PipelineConfig.Layers).
	Name string
	// After is the limit. Zero means 10 s; negative switches the layer off.
	After time.Duration
	// Abandon returns at the limit, or when the context outside ends, although the operation still runs: for operations
	// that do not heed their context. What is inside runs on a goroutine of its own, which goes on behind; gates inside
	// settle when it ends. Its value is then discarded (PipelineConfig.Discard), its end is published as LateResult, its
	// panic as CallbackPanicked; [Pipeline.Close] waits for it. The operation must write nothing that belongs to the
	// caller. A panic in time is raised again as a *PanicError; runtime.Goexit fails the call with [ErrGoexit].
	Abandon bool
	// MaxAbandoned is how many operations may run abandoned at once. While so many do, the layer refuses calls with a
	// *LimitedError (the reason is "full"): what hangs would only become more. A call that runs already when it finds
	// no place waits for its operation, as without Abandon. The count is the layer's at its place in a pipeline. Zero
	// means 100; it is for Abandon only.
	MaxAbandoned int
}

const (
	defaultTimeout      = 10 * time.Second
	defaultMaxAbandoned = 100
)

// LayerInfo implements [Layer].
func (t Timeout) LayerInfo() LayerInfo {
	after := "off"
	if t.After >= 0 {
		after = or(t.After, defaultTimeout).String()
	}
	info := LayerInfo{Name: t.Name, Type: events.TypeTimeout, Settings: []Setting{{"after", after}}}
	if t.Abandon {
		info.Settings = append(info.Settings, Setting{"max_abandoned", fmt.Sprint(or(t.MaxAbandoned, defaultMaxAbandoned))})
	}
	return info
}

func (t Timeout) check() error {
	c := checks{typ: "Timeout"}
	c.name("Name", t.Name, false)
	if t.MaxAbandoned != 0 && !t.Abandon {
		c.refuse("MaxAbandoned", t.MaxAbandoned, "0 where Abandon is not set")
	}
	c.atLeast("MaxAbandoned", t.MaxAbandoned, 0, "at least 1, or 0 for the default, 100")
	return c.err()
}

// timing is a Timeout at its place in a pipeline.
type timing struct {
	place
	limit  time.Duration
	cause  *TimeoutError // of the contexts it ends
	nested bool          // its context is made inside that of another Timeout of the pipeline, and ends first
}

func newTiming[T any](b *builder[T], at place, t Timeout, next Next[T]) Next[T] {
	if t.After < 0 {
		return next
	}
	limit := or(t.After, defaultTimeout)
	l := &timing{at, limit, &TimeoutError{Layer: at.name, Limit: limit}, b.nestedTiming(at.position)}
	if t.Abandon {
		next = newAbandoning(b, l, or(t.MaxAbandoned, defaultMaxAbandoned), next)
	}
	var holding Next[T]
	if b.cfg.Hold != nil {
		holding = holdTiming(b, l, next)
	}
	return func(ctx context.Context, call Call, op Operation[T]) (T, error) {
		if call.holds() {
			return holding(ctx, call, op)
		}
		call = call.fresh()
		limited := &limitedContext{outside: ctx, layer: l, began: call.now}
		defer limited.finish()
		v, err := next(limited, call, op)
		if err == nil && !l.bus.LateResult.Heard() {
			return v, nil // who would hear that it is late?
		}
		if l.expired(ctx, limited) {
			guarded(ctx, call, b.discard, v, err, func() { err = l.concluded(ctx, call, err) })
		}
		return v, err
	}
}

// nestedTiming tells whether the context at position is made right inside that of another Timeout, with nothing between
// that may run what is inside on another goroutine.
func (b *builder[T]) nestedTiming(position int) bool {
	for i := position - 1; i >= 0; i-- {
		switch l := b.cfg.Layers[i].(type) {
		case Timeout:
			if l.After >= 0 {
				return !l.Abandon
			}
		case Retry, Fallback[T], *Chaos:
		case around:
			return false
		case Gate:
		default:
			return false
		}
	}
	return false
}

// expired tells whether the limit, and not the context outside, ended the context inside.
func (l *timing) expired(outside, inside context.Context) bool {
	return inside.Err() != nil && context.Cause(inside) == error(l.cause) && outside.Err() == nil
}

// concluded returns the error of a call that ended after the limit. What came late without an error is kept.
func (l *timing) concluded(ctx context.Context, call Call, err error) error {
	failure, failingValue := seen(err)
	if failure == nil || failingValue {
		if l.bus.LateResult.Heard() {
			outcome := events.OutcomeSuccess
			if failingValue {
				outcome = events.OutcomeFailure
			}
			l.bus.LateResult.Publish(ctx, events.LateResult{Meta: call.meta(l.source, call.Attempt()), Outcome: outcome, Err: failure})
		}
		return err
	}
	own := given(err)
	if canceled, ok := own.(*CanceledError); ok {
		own = canceled.Last // a retry inside was cut short
	}
	if own == context.DeadlineExceeded || own == context.Canceled || own == error(l.cause) {
		own = nil // the operation only reports its context's end
	}
	call.decide(0, l.source)
	if l.bus.TimedOut.Heard() {
		l.bus.TimedOut.Publish(ctx, events.TimedOut{Meta: call.meta(l.source, call.Attempt()), Limit: l.limit, Err: own})
	}
	return &TimeoutError{Layer: l.name, Limit: l.limit, Err: own}
}

// endedByTimeout tells whether a Timeout layer ended the context.
func endedByTimeout(ctx context.Context) bool {
	_, ours := context.Cause(ctx).(*TimeoutError)
	return ours
}
