package resilience

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/telltale-go/telltale/events"
)

// attempting runs the operation: it is the innermost part of every pipeline of T.
type attempting[T any] struct {
	place    // of the pipeline itself
	classify func(T, error) error
	recover  bool
	retries  *events.Source // the pipeline; nil if it does not retry
	discard  func(context.Context, Call, T)
}

// newAttempting returns the innermost Next, as bare as the pipeline allows.
func newAttempting[T any](b *builder[T], at place) Next[T] {
	a := &attempting[T]{place: at, classify: b.cfg.Classify, recover: b.cfg.RecoverPanics, discard: b.discard}
	if b.retries() {
		a.retries = at.source
	}
	return func(ctx context.Context, call Call, op Operation[T]) (T, error) {
		if call.rec != nil {
			return a.recorded(ctx, call, op)
		}
		if call.attempt > 1 || call.renumber {
			ctx = numberedContext(ctx, call.attempt, a.retries)
		}
		if a.classify == nil && !a.recover {
			return op(ctx)
		}
		return a.once(ctx, call, op)
	}
}

// recorded runs an attempt of a call that has a record.
func (a *attempting[T]) recorded(ctx context.Context, call Call, op Operation[T]) (T, error) {
	number, kind := call.rec.run()
	if number > 1 || call.renumber {
		ctx = numberedContext(ctx, number, a.retries)
	}
	if call.observed() {
		return a.observed(ctx, call, number, kind, op)
	}
	return a.once(ctx, call, op)
}

// observed runs an attempt whose beginning and end are told.
func (a *attempting[T]) observed(limited context.Context, call Call, number int, kind events.AttemptKind, op Operation[T]) (v T, err error) {
	rec, began, ctx := call.rec, call.clock(), limited
	outcome, failure := events.OutcomeFailure, errNotReturned
	var ends events.Ends[events.AttemptFinished]
	at := running
	defer func() {
		if at == landed { // an end hook ends the goroutine
			unreturned(ctx, call, a.discard, v, err)
		}
	}()
	defer func() {
		ended := now()
		rec.ended = ended
		rec.working += time.Duration(ended - began)
		ends.Finish(events.AttemptFinished{Meta: rec.meta(a.source, number, ended), Kind: kind, Outcome: outcome, Err: failure,
			Duration: time.Duration(ended - began)})
		if at == landed { // else it panics
			at = returned
		}
	}()
	started := events.AttemptStarted{Meta: rec.meta(a.source, number, began), Kind: kind, Delay: rec.delay}
	rec.delay = 0
	ctx = a.bus.Attempt.Begin(limited, started, &ends)
	v, err = a.once(ctx, call, op)
	at = landed
	outcome, failure = attemptOutcome(limited, err)
	return v, err
}

// once runs the operation and has what it returned judged.
func (a *attempting[T]) once(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
	if a.recover {
		v, err = recovered(ctx, op)
		if _, panicked := err.(*PanicError); panicked {
			return v, err
		}
	} else {
		v, err = op(ctx)
	}
	return a.judged(ctx, call, v, err)
}

// judged returns what an operation returned with Classify's judgement.
func (a *attempting[T]) judged(ctx context.Context, call Call, v T, err error) (T, error) {
	if a.classify == nil || call.valueless && err == nil {
		return v, err
	}
	var judged error
	guarded(ctx, call, a.discard, v, err, func() { judged = a.judge(ctx, call, v, err) })
	if judged == NoFailure {
		judged = nil
	} else if judged == nil {
		judged = err
	}
	if same(judged, err) {
		return v, err
	}
	return v, newVerdict(v, judged, err)
}

// judge asks Classify; if it panics the error stands as it is.
func (a *attempting[T]) judge(ctx context.Context, call Call, v T, err error) (judged error) {
	judged = err
	defer a.recoverCallback(ctx, call, "PipelineConfig.Classify")
	return a.classify(v, err)
}

func recovered[T any](ctx context.Context, op Operation[T]) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return op(ctx)
}

// attemptOutcome judges an attempt by its context, and by its error as Classify sees it.
func attemptOutcome(ctx context.Context, err error) (events.Outcome, error) {
	failure, _ := seen(err)
	switch {
	case failure == nil:
		return events.OutcomeSuccess, nil
	case ctx.Err() == nil:
		return events.OutcomeFailure, failure
	case endedByTimeout(ctx):
		return events.OutcomeTimeout, failure
	}
	return events.OutcomeCanceled, failure
}
