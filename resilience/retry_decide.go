package resilience

import (
	"context"
	"math"
	"time"

	"github.com/telltale-go/telltale/events"
)

// pause is the wait between two attempts.
type pause struct {
	delay  time.Duration
	drawn  time.Duration // what the backoff said of it: the next draw may depend on that
	hinted bool          // raised to what the peer asked for
}

// decide tells after what wait a turn follows the one that failed, or the reason why none does. previous is what was drawn
// before the failed one.
func (l *retrying[T]) decide(ctx context.Context, call *Call, t *failedTurn, previous time.Duration) (p pause, reason events.Reason) {
	if reason = l.stops(ctx, call, t); reason != 0 {
		return p, reason
	}
	p, ok := l.wait(ctx, call, t, previous)
	if !ok {
		return p, events.ReasonNotRetryable
	}
	if reason = l.barred(ctx, p.delay); reason != 0 || l.OnRetry == nil {
		return p, reason
	}
	if !l.onRetry(ctx, call, t, p.delay) {
		return p, events.ReasonStopped
	}
	return p, l.barred(ctx, p.delay) // OnRetry may have taken its time
}

// stops tells why no turn may follow this one, whatever the wait; 0 if one may. The budget learns of the failure.
func (l *retrying[T]) stops(ctx context.Context, call *Call, t *failedTurn) events.Reason {
	if ctx.Err() != nil {
		if l.feeds && endedByTimeout(ctx) && t.final == 0 { // it had its time: that is no cancellation
			l.repeats(ctx, call, t)
		}
		return contextReason(ctx)
	}
	last := t.n == l.MaxAttempts
	switch {
	case t.final != 0:
		return t.final
	case last && !l.feeds:
		return events.ReasonExhausted
	}
	repeats := l.repeats(ctx, call, t)
	switch {
	case last:
		return events.ReasonExhausted
	case !repeats:
		return events.ReasonNotRetryable
	}
	return 0
}

// repeats tells whether the failure is one that is retried. If it is the dependency's, the budget learns of it.
func (l *retrying[T]) repeats(ctx context.Context, call *Call, t *failedTurn) bool {
	if t.refusal != nil {
		open, ok := t.refusal.(*BreakerOpenError)
		return ok && l.RetryRejections && open.State != events.StateForcedOpen
	}
	if l.If != nil && !l.retryable(ctx, call, t) {
		return false
	}
	if l.feeds {
		l.Budget.feed(false)
	}
	return true
}

// wait computes the wait before the next turn; false if the backoff panicked or the peer asks for too long a wait.
func (l *retrying[T]) wait(ctx context.Context, call *Call, t *failedTurn, previous time.Duration) (p pause, ok bool) {
	if !l.guarded {
		p.drawn = l.delays.next(t.n, previous)
	} else if p.drawn, ok = l.draw(ctx, call, t, previous); !ok {
		return p, false
	}
	p.delay = p.drawn
	if t.hint != nil {
		hint := t.hint.RetryAfter()
		if hint > l.MaxDelay && l.StopOnLongHint {
			return p, false
		}
		if hint = min(hint, l.MaxDelay); hint > p.delay {
			p.delay, p.hinted = hint, true
		}
	}
	if l.Delay != nil {
		if d := l.override(ctx, call, t, p.delay); d >= 0 && d != p.delay {
			p.delay, p.hinted = min(d, l.MaxDelay), false
		}
	}
	return p, true
}

// barred tells why no turn may start after the delay, 0 if one may.
func (l *retrying[T]) barred(ctx context.Context, delay time.Duration) events.Reason {
	if ctx.Err() != nil {
		return contextReason(ctx)
	}
	if !l.Budget.allows() {
		return events.ReasonBudget
	}
	if !l.IgnoreDeadline && delay >= untilDeadline(ctx) {
		return events.ReasonDeadline
	}
	return 0
}

// untilDeadline returns what is left until ctx's deadline, the largest duration if it has none. The context of a Timeout
// of ours, which makes a timer when it is asked for its deadline, is not asked.
func untilDeadline(ctx context.Context) time.Duration {
	left := time.Duration(math.MaxInt64)
	for {
		limited, ok := ctx.(*limitedContext)
		if !ok {
			break
		}
		left = min(left, limited.layer.limit-time.Duration(now()-limited.began))
		ctx = limited.outside
	}
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	return left
}

func (l *retrying[T]) retryable(ctx context.Context, call *Call, t *failedTurn) (yes bool) {
	defer l.recoverCallback(ctx, *call, "Retry.If")
	return l.If(t.failure)
}

func (l *retrying[T]) draw(ctx context.Context, call *Call, t *failedTurn, previous time.Duration) (d time.Duration, ok bool) {
	defer l.recoverCallback(ctx, *call, "Retry.Backoff")
	return l.delays.next(t.n, previous), true
}

func (l *retrying[T]) override(ctx context.Context, call *Call, t *failedTurn, delay time.Duration) (d time.Duration) {
	d = KeepDelay
	defer l.recoverCallback(ctx, *call, "Retry.Delay")
	return l.Delay(t.told(call, delay))
}

func (l *retrying[T]) onRetry(ctx context.Context, call *Call, t *failedTurn, delay time.Duration) (goOn bool) {
	goOn = true
	defer l.recoverCallback(ctx, *call, "Retry.OnRetry")
	return l.OnRetry(ctx, t.told(call, delay))
}

// told is what the functions of the user's are told.
func (t *failedTurn) told(call *Call, delay time.Duration) FailedAttempt {
	return FailedAttempt{Number: call.ran(t.n), Err: t.failure, Value: t.value, Delay: delay}
}
