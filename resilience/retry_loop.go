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

// failedTurn is one run of what is inside a Retry that has failed.
type failedTurn struct {
	n       int // 1-based
	failure error
	value   any // the failing value, where a function of the user's is told
	signs
}

// again decides after each failed turn, from the first on, whether another follows.
func (l *retrying[T]) again(ctx context.Context, call Call, op Operation[T], v T, err error, mark int) (T, error) {
	var p pause
	var last error // of the turns before, the last failure that was no refusal
	for n := 1; ; n++ {
		failure, failingValue := seen(err)
		if failure == nil {
			if l.feeds {
				l.Budget.feed(true)
			}
			return v, err
		}
		t := failedTurn{n: n, failure: failure, signs: signsOf(failure)}
		if failingValue && (l.Delay != nil || l.OnRetry != nil) {
			t.value = v
		}
		var reason events.Reason
		guarded(ctx, call, l.discard, v, err, func() {
			if p, reason = l.decide(ctx, &call, &t, p.drawn); reason != 0 {
				l.stopped(ctx, &call, &t, reason)
			} else if l.bus.RetryScheduled.Heard() {
				l.scheduled(ctx, &call, &t, p)
			}
		})
		if reason != 0 {
			return v, t.withLast(err, last)
		}
		left := failingValue || call.rec != nil // what this turn leaves must be let go of
		if left && l.Budget == nil {
			v = l.supersede(ctx, call, v, failure, failingValue, mark)
		}
		lives := ctx.Err() == nil
		if lives && p.delay > 0 {
			lives = call.sleep(ctx, p.delay)
		}
		if lives && l.Budget != nil && !l.Budget.take() {
			guarded(ctx, call, l.discard, v, err, func() { l.stopped(ctx, &call, &t, events.ReasonBudget) })
			return v, t.withLast(err, last)
		}
		if left && l.Budget != nil { // before it might have been the caller's
			v = l.supersede(ctx, call, v, failure, failingValue, mark)
		}
		if !lives {
			l.stopped(ctx, &call, &t, contextReason(ctx))
			return v, canceled(ctx, t.withLast(given(err), last))
		}
		last = t.dependencys(err, last)
		call.timed, call.attempt = false, n+1
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

// supersede lets go of what a failed turn has left.
func (l *retrying[T]) supersede(ctx context.Context, call Call, v T, failure error, failingValue bool, mark int) T {
	if failingValue {
		l.discard(ctx, call, v)
		var none T
		v = none
	}
	call.release(mark, failure)
	return v
}

// sleep waits, and tells whether the context lived.
func (c *Call) sleep(ctx context.Context, delay time.Duration) bool {
	if c.observed() {
		began := now()
		defer func() { c.rec.backoff += time.Duration(now() - began) }()
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

func (l *retrying[T]) scheduled(ctx context.Context, call *Call, t *failedTurn, p pause) {
	l.bus.RetryScheduled.Publish(ctx, events.RetryScheduled{Meta: call.meta(l.source, call.ran(t.n)), Delay: p.delay, Err: t.failure,
		MaxAttempts: max(l.MaxAttempts, 0), HintedByPeer: p.hinted})
}

func (l *retrying[T]) stopped(ctx context.Context, call *Call, t *failedTurn, reason events.Reason) {
	if t.refusal == nil { // else the layer that refused has decided
		call.decide(reason, l.source)
	}
	if l.bus.RetryStopped.Heard() {
		number := call.ran(t.n)
		attempts := number
		if call.observed() {
			attempts = call.rec.runs() // 0 if all turns were refused
		}
		l.bus.RetryStopped.Publish(ctx, events.RetryStopped{Meta: call.meta(l.source, number), Reason: reason, Err: t.failure,
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

// withLast adds the last failure of the turns before to a refusal, which is none of the dependency's. err is the failure as
// it is handed on.
func (t *failedTurn) withLast(err, last error) error {
	if _, has := t.failure.(*refusedRetry); has || last == nil || t.refusal == nil {
		return err
	}
	return &refusedRetry{err, last}
}

// dependencys returns the failure, or, where that is a refusal, the one that came with it or before.
func (t *failedTurn) dependencys(err, before error) error {
	if r, ok := t.failure.(*refusedRetry); ok {
		return r.last
	}
	if t.refusal != nil {
		return before
	}
	return given(err)
}
