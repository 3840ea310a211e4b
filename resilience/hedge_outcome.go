package resilience

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/telltale-go/telltale/events"
)

// decided judges the runs that have ended, and tells whether one of them decides the call. It is then the chosen one.
func (r *race[T]) decided(ctx context.Context, call Call) bool {
	for !r.final {
		e := r.take()
		if e == nil {
			return false
		}
		r.judge(ctx, call, e)
	}
	return true
}

// take returns the run that has ended first of those not judged yet.
func (r *race[T]) take() *entry[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.arrived
	if e != nil {
		r.arrived, e.next = e.next, nil
	}
	return e
}

// judge chooses between a run that has ended and the one chosen before.
func (r *race[T]) judge(ctx context.Context, call Call, e *entry[T]) {
	r.judged++
	failure, _ := seen(e.err)
	first := e == r.first
	if first && (failure == nil || ctx.Err() == nil) { // else the context's end has ended it, and it would have taken longer
		r.first = nil
	}
	_, r.refused = refusalIn(failure)
	other := e
	if !r.refused || len(r.failures) == 0 { // a refusal says less than any failure
		other, r.chosen = r.chosen, e
	}
	if other != nil { // nobody gets what it returned
		other.cancel(nil)
		other.forsaken(ctx, other.call, r.place, r.discard)
	}
	switch {
	case failure == nil:
		r.final = true
		if r.feeds {
			r.Budget.feed(true)
		}
		if first && r.Learn != nil {
			r.Learn.observe(time.Duration(e.ended - r.began))
		}
	case !r.refused:
		if ctx.Err() == nil || !same(failure, ctx.Err()) && !same(failure, context.Cause(ctx)) { // it tells more than that
			r.failures = append(r.failures, e.err)
		}
		r.final = r.ends(ctx, call, failure)
		if r.feeds && !r.final && (ctx.Err() == nil || endedByTimeout(ctx)) {
			r.Budget.feed(false)
		}
	}
}

// ends tells whether no other run could mend this failure.
func (r *race[T]) ends(ctx context.Context, call Call, failure error) bool {
	if didNotReturn(failure) || stopIn(failure) != 0 {
		return true
	}
	return r.If != nil && ctx.Err() == nil && !r.worthwhile(ctx, call, failure)
}

func (r *race[T]) worthwhile(ctx context.Context, call Call, failure error) (yes bool) {
	defer r.recoverCallback(ctx, call, "Hedge.If")
	return r.If(failure)
}

// outcome returns the error that the call has by now.
func (r *race[T]) outcome() error {
	if r.final || len(r.failures) == 0 {
		return r.chosen.err
	}
	return joined(r.failures)
}

// conclude ends the race with the outcome of the chosen run.
func (r *race[T]) conclude(ctx context.Context, call Call) (T, error) {
	e := r.chosen
	err := r.outcome()
	failure, _ := seen(err)
	r.close(ctx)
	if r.bus.HedgeSettled.Heard() {
		r.bus.HedgeSettled.Publish(ctx, events.HedgeSettled{Meta: call.meta(r.source, or(e.rec.number, e.number)), Kind: e.kind, Started: r.n, Err: failure})
	}
	r.awaitLosers()
	r.chosen = nil // what follows hands it over
	kept := call.holds() && delivers(err)
	if !kept {
		e.cancel(nil)
		e.call.release(0, failure)
	}
	if call.observed() {
		e.rec.working = time.Duration(now()-r.began) - e.rec.backoff - e.rec.queued
	}
	call.join(&e.rec)
	if kept {
		call.onRelease(onlyEnds(func() { e.cancel(nil) }))
	}
	if e.panic != nil {
		panic(e.panic)
	}
	return e.v, err
}

// giveUp ends the race when the context has ended, and what had come by then did not decide it.
func (r *race[T]) giveUp(ctx context.Context, call Call) (v T, err error) {
	var last error
	if r.chosen != nil {
		last = given(r.outcome())
	}
	if r.feeds && endedByTimeout(ctx) {
		for range r.n - r.judged { // they had their time
			r.Budget.feed(false)
		}
	}
	ended := canceled(ctx, last)
	r.leave(ctx)
	call.left()
	if call.observed() {
		call.rec.working += time.Duration(now() - r.began)
	}
	if r.bus.HedgeSettled.Heard() {
		r.bus.HedgeSettled.Publish(ctx, events.HedgeSettled{Meta: call.meta(r.source, 0), Started: r.n, Err: ended})
	}
	return v, ended
}

// leave ends the race, if nothing has, without an outcome.
func (r *race[T]) leave(ctx context.Context) {
	defer r.awaitLosers()
	if e := r.chosen; e != nil {
		r.chosen = nil
		e.cancel(errLost)
		defer e.forsaken(ctx, e.call, r.place, r.discard) // also if what follows ends the goroutine
	}
	r.close(ctx)
}

// close makes late whoever comes now, cancels all runs but the chosen one, and gets rid of what has arrived.
func (r *race[T]) close(ctx context.Context) {
	if r.over.Load() {
		return
	}
	r.mu.Lock()
	r.over.Store(true)
	unjudged := r.arrived
	r.arrived = nil
	r.mu.Unlock()
	for e := r.runs; e != nil; e = e.before {
		if e != r.chosen {
			e.cancel(errLost)
		}
	}
	r.runs = nil
	if r.first != nil && r.Learn != nil {
		if took := time.Duration(now() - r.began); took >= r.delay {
			r.Learn.observe(took) // and longer still
		}
		r.first = nil
	}
	if unjudged != nil {
		r.clear(ctx, unjudged)
	}
}

// clear gets rid of what has arrived and was not judged, all of it, also if a function of the user's ends the goroutine.
func (r *race[T]) clear(ctx context.Context, e *entry[T]) {
	defer func() {
		if e != nil {
			r.clear(ctx, e)
		}
	}()
	for e != nil {
		this := e
		e = e.next
		this.forsaken(ctx, this.call, r.place, r.discard)
	}
}

// awaitLosers waits, where that is asked for, until all runs have ended and left nothing to be done.
func (r *race[T]) awaitLosers() {
	for r.WaitLosers && !r.allGone() {
		<-r.news
	}
}

func (r *race[T]) allGone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone == r.n
}

// joined returns the failure of a call of which all runs failed, as the layers see it and as the caller gets it: the last,
// and the others in it. A failing value that comes last stays one.
func joined(failures []error) error {
	last := failures[len(failures)-1]
	if _, failingValue := seen(last); failingValue || len(failures) == 1 {
		return last
	}
	marked := false
	saw, gave := make([]error, len(failures)), make([]error, len(failures))
	for i, err := range failures {
		saw[i], _ = seen(err)
		gave[i] = given(err)
		if _, ok := err.(*verdict); ok {
			marked = true
		}
	}
	if !marked {
		return lastOf(gave)
	}
	return &verdict{seen: lastOf(saw), given: lastOf(gave)}
}

// lastOf returns the last of the failures, which finds the others, if they are others.
func lastOf(failures []error) error {
	slices.Reverse(failures)
	e := &hedgesFailed{last: failures[0]}
	for i, err := range failures[1:] {
		if !slices.ContainsFunc(failures[:i+1], func(later error) bool { return same(later, err) }) {
			e.others = append(e.others, err)
		}
	}
	if e.others == nil {
		return e.last
	}
	return e
}

// hedgesFailed is the failure of a call of which several runs failed in different ways.
type hedgesFailed struct {
	last   error
	others []error // the later ones first
}

func (e *hedgesFailed) Error() string {
	var b strings.Builder
	b.WriteString(e.last.Error())
	for i, other := range e.others {
		b.WriteString([]string{" (other attempts: ", "; "}[min(i, 1)])
		b.WriteString(other.Error())
	}
	return b.String() + ")"
}

// Unwrap returns all failures, the last first.
func (e *hedgesFailed) Unwrap() []error { return append([]error{e.last}, e.others...) }
