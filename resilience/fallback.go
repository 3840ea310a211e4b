package resilience

import (
	"context"
	"reflect"

	"github.com/telltale-go/telltale/events"
)

// Fallback is a layer that answers in place of what is inside it when that fails. It keeps nothing between calls.
// Outermost, or inside a [Singleflight] alone, it answers for everything; outside a Timeout its function gets a context
// that the timeout has not ended.
//
//	resilience.FallbackValue([]Product{})                 // one answer for all calls
//	resilience.FallbackTo(func(ctx context.Context, _ *User, _ error) (*User, error) {
//		return cache.User(resilience.CallKey(ctx))
//	})
//
// It answers for refusals by other layers, too. It never does for the end of the caller's context, where nobody waits
// for an answer, nor for a panic or runtime.Goexit of the operation.
//
// What it answers without an error is a success for the layers outside, whatever Classify would say of it: a Retry
// outside is content, a Breaker outside learns nothing of the failure, and so stands better inside. The execution's
// outcome is events.OutcomeFallback, wherever the fallback stands, if its answer is what the call returns.
type Fallback[T any] struct {
	// Name tells the layer apart in telemetry; empty means "fallback".
	Name string
	// To makes the answer. It gets what the operation returned and the failure, for a failing value what Classify said of
	// it. [CallKey] finds the call's key in its context. It is required, and called concurrently.
	//
	// If it returns the very error that it got, it declines, and the outcome stands as it was. Another error is returned
	// joined with the failure, unless it wraps that already. A failing value that the answer replaces is discarded
	// (PipelineConfig.Discard), unless the answer is that same value; values that cannot be compared never are. If it
	// panics, that is published, and the outcome stands.
	To func(ctx context.Context, v T, err error) (T, error)
	// If selects the failures that it answers for. Nil means all of them. If it panics, that is published, and the failure
	// is not selected.
	If func(error) bool

	always bool // To returns no error
}

// FallbackTo is a Fallback that answers by to.
func FallbackTo[T any](to func(ctx context.Context, v T, err error) (T, error)) Fallback[T] {
	return Fallback[T]{To: to}
}

// FallbackValue is a Fallback that answers with v. All callers get the same v: it should be one that nobody changes or closes.
func FallbackValue[T any](v T) Fallback[T] {
	return Fallback[T]{To: func(context.Context, T, error) (T, error) { return v, nil }, always: true}
}

// LayerInfo implements [Layer].
func (f Fallback[T]) LayerInfo() LayerInfo {
	handles := "every failure"
	if f.If != nil {
		handles = "selected failures"
	}
	return LayerInfo{Name: f.Name, Type: events.TypeFallback, Settings: []Setting{{"handles", handles}}}
}

func (f Fallback[T]) check() error {
	c := checks{typ: "Fallback"}
	c.name("Name", f.Name, false)
	if f.To == nil {
		c.refuse("To", f.To, "a function")
	}
	return c.err()
}

// resultType tells what pipelines it is for.
func (Fallback[T]) resultType() reflect.Type { return reflect.TypeFor[T]() }

// falling is a Fallback at its place in a pipeline of T.
type falling[T any] struct {
	Fallback[T]
	place
	discard func(context.Context, Call, T)
}

func newFalling[T any](b *builder[T], at place, f Fallback[T], next Next[T]) Next[T] {
	l := &falling[T]{Fallback: f, place: at, discard: b.discard}
	return func(ctx context.Context, call Call, op Operation[T]) (T, error) {
		mark := call.held()
		call.answeredBy(nil)
		v, err := next(ctx, call, op)
		if err == nil {
			return v, nil
		}
		return l.instead(ctx, call, v, err, mark)
	}
}

// instead returns what goes out for a call that failed.
func (l *falling[T]) instead(ctx context.Context, call Call, v T, err error, mark int) (T, error) {
	failure, failingValue := seen(err)
	if failure == nil {
		return v, err
	}
	cause := withoutMarks(failure)
	var answer T
	var own error
	answered := false
	guarded(ctx, call, l.discard, v, err, func() {
		if l.handles(ctx, call, cause) {
			answer, own, answered = l.answer(ctx, call, v, cause)
		}
	})
	if !answered {
		return v, err
	}
	replaced := !failingValue || !sameValue(v, answer)
	declined := own != nil && same(own, cause)
	if declined && !replaced {
		return v, err
	}
	guarded(ctx, call, l.discard, answer, own, func() {
		if failingValue && replaced {
			l.discard(ctx, call, v)
		}
		if replaced {
			call.release(mark, failure)
		}
		if !declined {
			l.used(ctx, call, cause, own)
		}
	})
	if declined {
		return answer, asError(err)
	}
	if own != nil {
		return answer, l.joined(err, own, cause)
	}
	call.answeredBy(l.source)
	return answer, nil
}

// handles tells whether the failure is one to answer for.
func (l *falling[T]) handles(ctx context.Context, call Call, cause error) bool {
	if ctx.Err() != nil && !endedByTimeout(ctx) || didNotReturn(cause) {
		return false
	}
	return l.If == nil || l.selected(ctx, call, cause)
}

func (l *falling[T]) selected(ctx context.Context, call Call, cause error) (yes bool) {
	defer l.recoverCallback(ctx, call, "Fallback.If")
	return l.If(cause)
}

func (l *falling[T]) answer(ctx context.Context, call Call, v T, cause error) (answer T, own error, returned bool) {
	defer l.recoverCallback(ctx, call, "Fallback.To")
	answer, own = l.To(keyed(ctx, call.key), v, cause)
	return answer, own, true
}

func (l *falling[T]) used(ctx context.Context, call Call, cause, own error) {
	if !l.bus.FallbackUsed.Heard() {
		return
	}
	outcome := events.OutcomeFallback
	if own != nil {
		outcome = events.OutcomeFailure
	}
	l.bus.FallbackUsed.Publish(ctx, events.FallbackUsed{Meta: call.meta(l.source, call.Attempt()), Outcome: outcome, Cause: cause, Err: own})
}

// joined returns the fallback's own error with the failure: the layers outside find what those inside saw, the caller
// what the operation returned.
func (l *falling[T]) joined(err, own, cause error) error {
	join := func(cause error) error {
		if anyIn(own, func(e error) bool { return same(e, cause) }) {
			return own
		}
		return &failedFallback{l.name, own, cause}
	}
	if w, ok := err.(*verdict); ok && w.given != nil {
		return &verdict{seen: join(cause), given: join(w.given)}
	}
	return join(cause)
}

// failedFallback is what a Fallback returns when it failed, too: both errors are found in it.
type failedFallback struct {
	layer      string
	own, cause error
}

func (e *failedFallback) Error() string {
	return "resilience: " + e.layer + ": " + e.own.Error() + " (instead of: " + e.cause.Error() + ")"
}
func (e *failedFallback) Unwrap() []error { return []error{e.own, e.cause} }

// sameValue compares values by identity; values that cannot be compared are never the same.
func sameValue[T any](a, b T) bool {
	v, w := reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem()
	return v.Comparable() && w.Comparable() && any(a) == any(b)
}

// callKey finds the key of the call in the context of Fallback.To.
type callKey struct{}

type keyContext struct {
	context.Context
	key string
}

func (c keyContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return c.key
	}
	return c.Context.Value(key)
}

// keyed returns the context with the key of the call, which hides that of a call outside.
func keyed(ctx context.Context, key string) context.Context {
	if key == "" && CallKey(ctx) == "" {
		return ctx
	}
	return keyContext{ctx, key}
}

// CallKey returns, from the context that [Fallback].To gets, the key that was given to DoKey; empty if there was none,
// and in other contexts.
func CallKey(ctx context.Context) string {
	if ctx == nil {
		return ""
	}
	key, _ := ctx.Value(callKey{}).(string)
	return key
}

// answeredBy notes whose answer the call has, nil for none.
func (c Call) answeredBy(fallback *events.Source) {
	if c.observed() {
		c.rec.fallback = fallback
	}
}
