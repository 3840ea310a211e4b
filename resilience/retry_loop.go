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
		r.If = b.cfg.RetryIf
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
	var p pause
	var last error // of the attempts before, the last failure that was no refusal
	for turn := 1; ; turn++ {
		failure, failingValue := seen(err)
		if failure == nil {
			return v, err
		}
		failed := FailedAttempt{Number: call.ran(turn), Err: failure}
		if failingValue && (l.Delay != nil || l.OnRetry != nil) {
			failed.Value = v
		}
		var reason events.Reason
		if p, reason = l.decide(ctx, call, turn, p.drawn, failed); reason != 0 {
			l.stopped(ctx, call, failed, reason)
			return v, withLast(err, failure, last)
		}
		if l.bus.RetryScheduled.Heard() {
			l.bus.RetryScheduled.Publish(ctx, events.RetryScheduled{Meta: call.meta(l.source, failed.Number), Delay: p.delay, Err: failure,
				MaxAttempts: max(l.MaxAttempts, 0), HintedByPeer: p.hinted})
		}
		if failingValue {
			l.discard(ctx, call, v)
			var none T
			v = none
		}
		call.release(mark, failure)
		if !l.sleep(ctx, call, p.delay) {
			l.stopped(ctx, call, failed, contextReason(ctx))
			return v, canceled(ctx, withLast(given(err), failure, last))
		}
		last = dependencysFailure(given(err), last)
		call = call.stale()
		call.attempt = turn + 1
		if call.rec != nil {
			call.rec.delay = p.delay
		}
		v, err = l.next(ctx, call, op)
		if err == nil {
			return v, nil
		}
	}
}

// pause is the wait between two attempts.
type pause struct {
	delay  time.Duration
	drawn  time.Duration // what the backoff said of it: the next draw may depend on that
	hinted bool          // raised to what the peer asked for
}

// decide tells after what wait an attempt follows the one that failed, or the reason why none does.
func (l *retrying[T]) decide(ctx context.Context, call Call, turn int, previous time.Duration, failed FailedAttempt) (p pause, reason events.Reason) {
	if reason = l.stops(ctx, call, turn, failed.Err); reason != 0 {
		return p, reason
	}
	p, ok := l.wait(ctx, call, turn, previous, failed)
	if !ok {
		return p, events.ReasonNotRetryable
	}
	if reason = l.cannotWait(ctx, p.delay); reason != 0 || l.OnRetry == nil {
		return p, reason
	}
	failed.Delay = p.delay
	if !l.onRetry(ctx, call, failed) {
		return p, events.ReasonStopped
	}
	return p, l.cannotWait(ctx, p.delay) // OnRetry may have taken its time
}

// stops tells why no attempt may follow this turn, whatever the wait; 0 if one may.
func (l *retrying[T]) stops(ctx context.Context, call Call, turn int, failure error) events.Reason {
	if ctx.Err() != nil {
		return contextReason(ctx)
	}
	if didNotReturn(failure) {
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
	} else if l.If != nil && !l.retryable(ctx, call, failure) {
		return events.ReasonNotRetryable
	}
	return 0
}

// wait computes the wait before the next attempt; false if the backoff panicked or the peer asks for too long a wait.
func (l *retrying[T]) wait(ctx context.Context, call Call, turn int, previous time.Duration, failed FailedAttempt) (p pause, ok bool) {
	if p.drawn, ok = l.draw(ctx, call, turn, previous); !ok {
		return p, false
	}
	p.delay = p.drawn
	hint := hintIn(failed.Err)
	if hint > l.MaxDelay && l.StopOnLongHint {
		return p, false
	}
	if hint = min(hint, l.MaxDelay); hint > p.delay {
		p.delay, p.hinted = hint, true
	}
	if l.Delay != nil {
		failed.Delay = p.delay
		if d := l.override(ctx, call, failed); d >= 0 && d != p.delay {
			p.delay, p.hinted = min(d, l.MaxDelay), false
		}
	}
	return p, true
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

func (l *retrying[T]) stopped(ctx context.Context, call Call, failed FailedAttempt, reason events.Reason) {
	if _, refused := refusalIn(failed.Err); !refused { // else the layer that refused has decided
		call.decide(reason, l.source)
	}
	if l.bus.RetryStopped.Heard() {
		attempts := failed.Number
		if call.observed() {
			attempts = call.rec.runs // 0 if all turns were refused
		}
		l.bus.RetryStopped.Publish(ctx, events.RetryStopped{Meta: call.meta(l.source, failed.Number), Reason: reason, Err: failed.Err,
			Attempts: attempts})
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

// contextReason tells why a context's end stops a retry.
func contextReason(ctx context.Context) events.Reason {
	if ctx.Err() == context.Canceled && !endedByTimeout(ctx) {
		return events.ReasonCanceled
	}
	return events.ReasonDeadline
}

// withLast adds the last failure of the attempts before to a refusal, which is none of the dependency's.
func withLast(err, failure, last error) error {
	if _, has := failure.(*refusedRetry); has || last == nil {
		return err
	}
	if _, refused := refusalIn(failure); !refused {
		return err
	}
	return &refusedRetry{err, last}
}

// dependencysFailure returns the failure, or, where that is a refusal, the one that came with it or before.
func dependencysFailure(failure, before error) error {
	if r, ok := failure.(*refusedRetry); ok {
		return r.last
	}
	if _, refused := refusalIn(failure); refused {
		return before
	}
	return failure
}
