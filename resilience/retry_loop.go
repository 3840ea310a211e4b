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
	guarded bool // the delays come from a function of the user's
	feeds   bool // it tells its Budget how the attempts end
	next    Next[T]
	discard func(context.Context, Call, T)
}

func newRetrying[T any](b *builder[T], at place, r Retry, next Next[T]) Next[T] {
	r = r.withDefaults()
	if r.If == nil {
		r.If = b.cfg.RetryIf
	}
	l := &retrying[T]{Retry: r, place: at, next: next, discard: b.discard,
		feeds: b.feeds(at.position, r.Budget), guarded: r.Rand != nil || !ownBackoff(r.Backoff),
		delays: delayer{backoff: r.Backoff, jitter: r.Jitter, cap: r.MaxDelay, rand: r.Rand}}
	return func(ctx context.Context, call Call, op Operation[T]) (T, error) {
		mark := call.held()
		v, err := next(ctx, call, op)
		if err == nil {
			if l.feeds {
				l.Budget.feed(true)
			}
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
			if l.feeds {
				l.Budget.feed(true)
			}
			return v, err
		}
		failed := FailedAttempt{Number: call.ran(turn), Err: failure}
		if failingValue && (l.Delay != nil || l.OnRetry != nil) {
			failed.Value = v
		}
		signs := signsOf(failure)
		var reason events.Reason
		if p, reason = l.decide(ctx, call, turn, p.drawn, &failed, &signs); reason != 0 {
			l.stopped(ctx, call, &failed, reason)
			return v, withLast(err, failure, last)
		}
		if l.bus.RetryScheduled.Heard() {
			l.bus.RetryScheduled.Publish(ctx, events.RetryScheduled{Meta: call.meta(l.source, failed.Number), Delay: p.delay, Err: failure,
				MaxAttempts: max(l.MaxAttempts, 0), HintedByPeer: p.hinted})
		}
		if l.Budget == nil {
			v = l.supersede(ctx, call, v, failure, failingValue, mark)
		}
		lives := l.sleep(ctx, call, p.delay)
		if lives && !l.Budget.take() {
			l.stopped(ctx, call, &failed, events.ReasonBudget)
			return v, withLast(err, failure, last)
		}
		if l.Budget != nil { // only now is it sure that the value is not the caller's
			v = l.supersede(ctx, call, v, failure, failingValue, mark)
		}
		if !lives {
			l.stopped(ctx, call, &failed, contextReason(ctx))
			return v, canceled(ctx, withLast(given(err), failure, last))
		}
		last = dependencysFailure(err, &signs, last)
		call = call.stale()
		call.attempt = turn + 1
		if call.rec != nil {
			call.rec.delay = p.delay
		}
		v, err = l.next(ctx, call, op)
		if err == nil {
			if l.feeds {
				l.Budget.feed(true)
			}
			return v, nil
		}
	}
}

// supersede lets go of what the failed attempt has left.
func (l *retrying[T]) supersede(ctx context.Context, call Call, v T, failure error, failingValue bool, mark int) (none T) {
	if failingValue {
		l.discard(ctx, call, v)
	}
	if call.rec != nil {
		call.release(mark, failure)
	}
	return none
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

func (l *retrying[T]) stopped(ctx context.Context, call Call, failed *FailedAttempt, reason events.Reason) {
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
func dependencysFailure(err error, signs *signs, before error) error {
	failure := given(err)
	if r, ok := failure.(*refusedRetry); ok {
		return r.last
	}
	refused := signs.refusal != nil
	if _, judged := err.(*verdict); judged {
		_, refused = refusalIn(failure)
	}
	if refused {
		return before
	}
	return failure
}
