package resilience

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	"github.com/telltale-go/telltale/events"
)

// disturbing is a Chaos at its place in a pipeline of T.
type disturbing[T any] struct {
	*Chaos
	place
	next  Next[T]
	judge *attempting[T] // of what it returns instead of what is inside
	value func() T       // nil: no such fault
}

func newDisturbing[T any](b *builder[T], at place, c *Chaos, next Next[T]) Next[T] {
	value, _ := chaosValue[T](c.cfg.Value)
	judge := &attempting[T]{place: at, classify: b.cfg.Classify, recover: b.cfg.RecoverPanics, discard: b.discard}
	d := &disturbing[T]{Chaos: c, place: at, next: next, judge: judge, value: value}
	return func(ctx context.Context, call Call, op Operation[T]) (T, error) {
		if !c.enabled.Load() {
			return next(ctx, call, op)
		}
		return d.run(ctx, call, op)
	}
}

// chaosValue returns what makes a Value fault's values; false if they are not of type T.
func chaosValue[T any](value any) (func() T, bool) {
	switch v := value.(type) {
	case nil:
		return nil, true
	case T:
		return func() T { return v }, true
	case func() T:
		return v, v != nil
	}
	return nil, false
}

// fitsChaos refuses a Chaos whose values are not those of a pipeline of T.
func fitsChaos[T any](c *Chaos) error {
	if _, ok := chaosValue[T](c.cfg.Value); !ok {
		t := reflect.TypeFor[T]()
		return fmt.Errorf("%s does not fit a pipeline of %v: it is a %T whose Value is a %T, neither a %v nor a func() %v that makes one",
			c.cfg.Name, t, c, c.cfg.Value, t, t)
	}
	return nil
}

func (d *disturbing[T]) run(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
	if !d.selects(ctx, call) {
		return d.next(ctx, call, op)
	}
	delay, disturbed := d.draw()
	if !disturbed {
		return d.next(ctx, call, op)
	}
	if delay > 0 {
		d.tell(ctx, call, events.FaultInjected{Fault: events.FaultLatency, Delay: delay})
		if err := d.wait(ctx, delay); err != nil {
			return v, err
		}
		call = call.stale()
	}
	switch {
	case d.cfg.Err != nil:
		d.tell(ctx, call, events.FaultInjected{Fault: events.FaultError, Err: d.cfg.Err})
		err = d.cfg.Err
	case d.value != nil:
		d.tell(ctx, call, events.FaultInjected{Fault: events.FaultValue})
		if !call.valueless {
			v = d.value()
		}
	case d.cfg.Panic != nil:
		d.tell(ctx, call, events.FaultInjected{Fault: events.FaultPanic})
		if d.judge.recover {
			return v, &PanicError{Value: d.cfg.Panic, Stack: debug.Stack()}
		}
		panic(d.cfg.Panic)
	default:
		return d.next(ctx, call, op)
	}
	if v, err = d.judge.judged(ctx, call, v, err); err != nil {
		call.decide(0, d.place.source)
	}
	return v, err
}

// selects tells whether the call is one that may be disturbed.
func (d *disturbing[T]) selects(ctx context.Context, call Call) (yes bool) {
	if d.cfg.Keys != nil && !slices.Contains(d.cfg.Keys, call.key) {
		return false
	}
	if d.cfg.If == nil {
		return true
	}
	defer d.recoverCallback(ctx, call, "ChaosConfig.If")
	return d.cfg.If(ctx, call)
}

// tell publishes a fault before it happens.
func (d *disturbing[T]) tell(ctx context.Context, call Call, e events.FaultInjected) {
	if d.bus.FaultInjected.Heard() {
		e.Meta = call.meta(d.place.source, call.Attempt())
		d.bus.FaultInjected.Publish(ctx, e)
	}
}

// wait delays the call; its error is the context's.
func (d *disturbing[T]) wait(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}
