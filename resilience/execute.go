package resilience

import (
	"context"
	"errors"
	"time"

	"github.com/telltale-go/telltale/events"
)

var (
	errNilOperation = errors.New("resilience: the operation is nil")
	errNilContext   = errors.New("resilience: the context is nil")
	errNotBuilt     = errors.New("resilience: the pipeline was not made by NewPipeline")
)

func (p *Pipeline[T]) do(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
	f := p.folded.Load()
	if f == nil {
		return v, p.unusable()
	}
	return f.do(ctx, call, op)
}

func (f *folded[T]) do(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
	if op == nil {
		return v, errNilOperation
	}
	if ctx == nil {
		return v, errNilContext
	}
	if ctx.Err() != nil {
		return v, canceled(ctx, nil)
	}
	if numbered.Load() {
		if outer, ok := ctx.Value(attemptKey{}).(*attemptContext); ok {
			call.renumber = true
			if f.nesting != nil {
				f.nested(ctx, outer)
			}
		}
	}
	if heard := f.bus.CallsHeard(); heard || f.counted || f.hold != nil || f.disturbed() {
		return f.recorded(ctx, call, op, heard)
	}
	v, err = f.run(ctx, call, op)
	if err != nil {
		err = outgoing(ctx, err)
	}
	return v, err
}

// disturbed tells whether attempts may end before the operation has run, because a Chaos is enabled.
func (f *folded[T]) disturbed() bool {
	for _, c := range f.disturbers {
		if c.enabled.Load() {
			return true
		}
	}
	return false
}

// outgoing returns the error for the caller: without the pipeline's marks, and marked if the caller's own context ended.
// ctx is the one that the caller gave; what the error says of itself does not matter.
func outgoing(ctx context.Context, err error) error {
	if v, ok := err.(*verdict); ok {
		if v.seen == nil || v.given == nil {
			return v.given
		}
		err = v.given
	}
	if ctx.Err() != nil {
		return canceled(ctx, err)
	}
	return withoutMarks(err)
}

// recorded runs a call that has a record.
func (f *folded[T]) recorded(ctx context.Context, call Call, op Operation[T], heard bool) (v T, err error) {
	if f.hold != nil && !call.valueless {
		call.rec = newRecordThatHolds(ctx, call.key, heard)
		return f.held(ctx, call, op)
	}
	if !f.lends {
		call.rec = newRecord(ctx, call.key, heard)
		return f.unheld(ctx, call, op)
	}
	r := records.Get().(*observedRecord)
	call.rec = &r.record
	if heard {
		r.start(ctx, call.key)
	}
	v, err = f.unheld(ctx, call, op)
	*r = observedRecord{}
	records.Put(r) // not after a panic: it does not matter then
	return v, err
}

// held runs a call whose value the layers hold until it is released.
func (f *folded[T]) held(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
	held, late, at := call.rec.held, errNotReturned, running
	defer func() {
		if at == returned {
			return
		}
		if at == landed { // Hold did not return
			defer unreturned(ctx, call, f.discard, v, err)
		}
		held.releaseAll(late)
	}()
	v, err = f.unheld(ctx, call, op)
	late = nil
	if err == nil && len(held.ends) > 0 {
		at = landed
		v = f.hold(v, Held{held})
		at = returned
	}
	return v, err
}

func (f *folded[T]) unheld(ctx context.Context, call Call, op Operation[T]) (v T, err error) {
	if call.observed() {
		return f.observed(ctx, call, op)
	}
	v, err = f.run(ctx, call, op)
	if err != nil {
		err = outgoing(ctx, err)
	}
	return v, err
}

// observed runs a call whose beginning and end are told.
func (f *folded[T]) observed(caller context.Context, call Call, op Operation[T]) (v T, err error) {
	rec := call.rec
	call.now, call.timed = rec.beganAt, true
	outcome, failure := events.OutcomeFailure, errNotReturned
	var ends events.Ends[events.ExecutionFinished]
	at := running
	defer func() {
		if at == landed { // an end hook ends the goroutine
			unreturned(caller, call, f.discard, v, err)
		}
	}()
	defer func() {
		ends.Finish(f.finished(rec, outcome, failure))
		if at == landed { // else it panics
			at = returned
		}
	}()
	ctx := f.bus.Execution.Begin(caller, events.ExecutionStarted{Meta: rec.meta(f.source, 0, rec.beganAt)}, &ends)
	v, err = f.run(ctx, call, op)
	at = landed
	if err == nil {
		if outcome, failure = events.OutcomeSuccess, nil; rec.fallback != nil {
			outcome = events.OutcomeFallback
		}
		return v, nil
	}
	given := outgoing(caller, err)
	outcome, failure = executionOutcome(err, given)
	return v, given
}

// finished explains the call.
func (f *folded[T]) finished(rec *record, outcome events.Outcome, failure error) events.ExecutionFinished {
	at := now()
	e := events.ExecutionFinished{
		Meta: rec.meta(f.source, 0, at), Outcome: outcome, Err: failure, Attempts: rec.runs(),
		Duration: time.Duration(at - rec.beganAt), Working: rec.working, Backoff: rec.backoff, Queued: rec.queued,
	}
	switch outcome {
	case events.OutcomeSuccess:
	case events.OutcomeFallback:
		e.Layer = rec.fallback
	case events.OutcomeFailure, events.OutcomeRejected, events.OutcomeTimeout, events.OutcomeCanceled:
		e.Reason, e.Layer = rec.reason, rec.decider
	}
	return e
}

// executionOutcome judges a call by the error of the outermost layer and the one that the caller gets.
func executionOutcome(err, given error) (events.Outcome, error) {
	failure, failingValue := seen(err)
	_, canceled := given.(*CanceledError)
	_, refused := refusalIn(failure)
	_, timeout := failure.(*TimeoutError)
	switch {
	case failure == nil:
		return events.OutcomeSuccess, nil
	case failingValue:
		return events.OutcomeFailure, failure
	case canceled:
		return events.OutcomeCanceled, given
	case refused:
		return events.OutcomeRejected, withoutMarks(failure)
	case timeout:
		return events.OutcomeTimeout, withoutMarks(failure)
	}
	return events.OutcomeFailure, withoutMarks(failure)
}
