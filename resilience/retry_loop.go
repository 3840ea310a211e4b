package resilience

import (
	"context"
	"time"

	"github.com/telltale-go/telltale/events"
)

// retrying is a Retry at its place in a pipeline of T.
type retrying[T any] struct {
	Retry // with defaults
	place
	delays  delayer
	next    Next[T]
	discard func(context.Context, Call, T)
}

func newRetrying[T any](b *builder[T], at place, r Retry, next Next[T]) Next[T] {
	r = r.withDefaults()
	if r.If == nil {
		r.If = b.cfg.If
	}
	l := &retrying[T]{Retry: r, place: at, next: next, discard: b.discard,
		delays: delayer{backoff: r.Backoff, jitter: r.Jitter, cap: r.MaxDelay, rand: r.Rand}}
	return func(ctx context.Context, call Call, op Operation[T]) (T, error) {
		mark := call.held()
		v, err := next(ctx, call, op)
		if err == nil {
			return v, nil
		}
		return l.again(ctx, call, op, v, err, mark)
	}
}

// again decides after each failed attempt, from the first on, whether another follows.
func (l *retrying[T]) again(ctx context.Context, call Call, op Operation[T], v T, err error, mark int) (T, error) {
	var delay, drawn time.Duration
	var last error // the failure before this one
	for turn := 1; ; turn++ {
		n := call.ran(turn)
		failure, failingValue := seen(err)
		if failure == nil {
			return v, err
		}
		reason := l.stops(ctx, turn, failure)
		if reason == 0 {
			delay, drawn, reason = l.delay(ctx, call, turn, drawn, FailedAttempt{Number: n, Err: failure, Value: value(v, failingValue)})
		}
		if reason == 0 && l.OnRetry != nil && !l.onRetry(ctx, call, FailedAttempt{n, failure, value(v, failingValue), delay}) {
			reason = events.ReasonStopped
		}
		if reason == 0 {
			reason = l.cannotWait(ctx, delay)
		}
		if reason != 0 {
			l.stopped(ctx, call, n, reason, failure)
			return v, withLast(err, failure, last)
		}
		if l.bus.RetryScheduled.Heard() {
			l.bus.RetryScheduled.Publish(ctx, events.RetryScheduled{Meta: call.meta(l.source, n), Delay: delay, Err: failure,
				MaxAttempts: max(l.MaxAttempts, 0), HintedByPeer: delay > 0 && hintIn(failure) >= delay})
		}
		if failingValue {
			l.discard(ctx, call, v)
			var none T
			v = none
		}
		call.release(mark, failure)
		if !l.sleep(ctx, call, delay) {
			l.stopped(ctx, call, n, contextReason(ctx), failure)
			return v, canceled(ctx, failure)
		}
		last = failure
		call = call.stale()
		call.attempt = int32(turn + 1)
		if call.rec != nil {
			call.rec.delay = delay
		}
		v, err = l.next(ctx, call, op)
		if err == nil {
			return v, nil
		}
	}
}

// stops tells why no attempt follows this turn, 0 if one may.
func (l *retrying[T]) stops(ctx context.Context, turn int, failure error) events.Reason {
	if ctx.Err() != nil {
		return contextReason(ctx)
	}
	if _, panicked := failure.(*PanicError); panicked {
		return events.ReasonNotRetryable
	}
	if reason := stopIn(failure); reason != 0 {
		return reason
	}
	if turn == l.MaxAttempts {
		return events.ReasonExhausted
	}
	if refused, ok := refusalIn(failure); ok {
		open, ok := refused.(*BreakerOpenError)
		if !ok || !l.RetryRejections || open.State == events.StateForcedOpen {
			return events.ReasonNotRetryable
		}
	}
	return 0
}

// delay asks If and computes the wait before the next attempt; drawn is what the backoff said of it, which the next
// draw may depend on.
func (l *retrying[T]) delay(ctx context.Context, call Call, turn int, previous time.Duration, failed FailedAttempt) (
	wait, drawn time.Duration, reason events.Reason) {
	if _, refused := refusalIn(failed.Err); !refused && l.If != nil && !l.retryable(ctx, call, failed.Err) {
		return 0, previous, events.ReasonNotRetryable
	}
	drawn, ok := l.draw(ctx, call, turn, previous)
	if !ok {
		return 0, previous, events.ReasonNotRetryable
	}
	wait = drawn
	if hint := hintIn(failed.Err); hint > wait {
		if hint > l.MaxDelay && l.StopOnLongHint {
			return 0, drawn, events.ReasonNotRetryable
		}
		wait = min(hint, l.MaxDelay)
	}
	if l.Delay != nil {
		failed.Delay = wait
		if d := l.override(ctx, call, failed); d >= 0 {
			wait = min(d, l.MaxDelay)
		}
	}
	return wait, drawn, 0
}

// cannotWait tells why the next attempt would come too late, 0 if it would not.
func (l *retrying[T]) cannotWait(ctx context.Context, delay time.Duration) events.Reason {
	if ctx.Err() != nil {
		return contextReason(ctx)
	}
	if l.IgnoreDeadline {
		return 0
	}
	if deadline, ok := ctx.Deadline(); ok && delay >= time.Until(deadline) {
		return events.ReasonDeadline
	}
	return 0
}

// sleep waits, and tells whether the context lived.
func (l *retrying[T]) sleep(ctx context.Context, call Call, delay time.Duration) bool {
	if delay == 0 {
		return ctx.Err() == nil
	}
	if call.observed() {
		began := now()
		defer func() { call.rec.backoff += time.Duration(now() - began) }()
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

func (l *retrying[T]) stopped(ctx context.Context, call Call, n int, reason events.Reason, failure error) {
	if _, refused := refusalIn(failure); !refused { // else the layer that refused has decided
		call.decide(reason, l.source)
	}
	if l.bus.RetryStopped.Heard() {
		l.bus.RetryStopped.Publish(ctx, events.RetryStopped{Meta: call.meta(l.source, n), Reason: reason, Err: failure, Attempts: n})
	}
}

func (l *retrying[T]) retryable(ctx context.Context, call Call, failure error) (yes bool) {
	defer l.recoverCallback(ctx, call, "Retry.If")
	return l.If(failure)
}

func (l *retrying[T]) draw(ctx context.Context, call Call, n int, previous time.Duration) (d time.Duration, ok bool) {
	defer l.recoverCallback(ctx, call, "Retry.Backoff")
	return l.delays.next(n, previous), true
}

func (l *retrying[T]) override(ctx context.Context, call Call, failed FailedAttempt) (d time.Duration) {
	d = KeepDelay
	defer l.recoverCallback(ctx, call, "Retry.Delay")
	return l.Delay(failed)
}

func (l *retrying[T]) onRetry(ctx context.Context, call Call, failed FailedAttempt) (goOn bool) {
	goOn = true
	defer l.recoverCallback(ctx, call, "Retry.OnRetry")
	return l.OnRetry(ctx, failed)
}

// value boxes a failing value for the callbacks.
func value[T any](v T, failing bool) any {
	if !failing {
		return nil
	}
	return v
}

// contextReason tells why a context's end stops a retry.
func contextReason(ctx context.Context) events.Reason {
	if ctx.Err() == context.Canceled && !endedByTimeout(ctx) {
		return events.ReasonCanceled
	}
	return events.ReasonDeadline
}

// withLast adds the failure of the attempt before to a refusal, which is none of the dependency's.
func withLast(err, failure, last error) error {
	if _, refused := refusalIn(failure); refused && last != nil {
		if _, also := refusalIn(last); !also {
			return &refusedRetry{err, last}
		}
	}
	return err
}
