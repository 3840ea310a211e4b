package resilience

import (
	"context"

	"github.com/telltale-go/telltale/events"
)

// Operation is what a pipeline runs: the caller's function. It should return soon after its context is done.
type Operation[T any] func(ctx context.Context) (T, error)

// Layer is one link of a pipeline. A layer of one's own also implements [Gate] or [TypedLayer]; for the rest there is
// [Around].
type Layer interface {
	LayerInfo() LayerInfo
}

// LayerInfo describes a layer.
type LayerInfo struct {
	// Name tells the layer apart in telemetry; empty means its type.
	Name string
	// Type is one of the Type constants of package events, or a short name of one's own; empty means "custom". It
	// becomes a metric label: it must not vary with the calls.
	Type string
	// Settings are the effective settings, defaults filled in, in the order in which they should be read.
	Settings []Setting
}

// Setting is one effective setting of a layer.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Gate is a layer that admits or rejects a call and learns how the admitted ones end: breakers and limiters are gates.
// Its methods are called concurrently. For each Permit that Admit returned, Settle is called exactly once, also when
// the operation panics or ends its goroutine.
type Gate interface {
	Layer
	// Admit returns a permit, or rejects with an error made by [Reject]; another error becomes a *LimitedError that
	// wraps it. It may wait, until ctx is done; then it returns ctx.Err().
	Admit(ctx context.Context, call Call) (Permit, error)
	// Settle gets the context and the call that Admit got. The context may be done. If it panics the caller's call does;
	// where nobody waits for the call any more the panic is published (CallbackPanicked).
	Settle(ctx context.Context, call Call, permit Permit, outcome Outcome)
}

// Permit is what a [Gate] wants to know again at Settle; its fields are the gate's own. A gate around another hands the other's
// permit on as it is.
type Permit struct {
	Token, Start int64
	keyed        *keyedEntry // of a Keyed: whose gate it is
}

// Outcome tells a [Gate] how an admitted call ended.
type Outcome struct {
	Kind OutcomeKind
	// Err is the failure, for a failing value what Classify said of it; nil if Kind is Succeeded.
	Err error
}

// OutcomeKind is how an admitted call ended, as far as a [Gate] is concerned.
type OutcomeKind uint8

const (
	// Succeeded: with a success.
	Succeeded OutcomeKind = 1 + iota
	// Failed: with an error, a failing value, or by the expiry of a Timeout layer inside or outside; also one of another
	// pipeline that this one runs in.
	Failed
	// Rejected: by a layer further in, so that it tells nothing about the dependency.
	Rejected
	// Canceled: the caller lost interest, by cancellation or by its own deadline.
	Canceled
	// Ignored: PipelineConfig.FailureIf says that the error is no failure of the dependency.
	Ignored
	// NotReturned: the operation panicked or ended its goroutine.
	NotReturned
)

var outcomeKindNames = [...]string{"OutcomeKind(0)", "succeeded", "failed", "rejected", "canceled", "ignored", "not_returned"}

// String returns the kind's name.
func (k OutcomeKind) String() string {
	if int(k) < len(outcomeKindNames) {
		return outcomeKindNames[k]
	}
	return "OutcomeKind(invalid)"
}

// Next is the rest of a pipeline, as a layer sees it. It returns the error of the operation or of a layer further in,
// an error that Classify calls a success included; with a failing value (see PipelineConfig.Classify) it returns the
// value and what Classify said of it: a layer that hands both on unchanged gives the caller the value with a nil error,
// one that returns the zero value with it gives the caller the error.
type Next[T any] func(ctx context.Context, call Call, op Operation[T]) (T, error)

// TypedLayer is a layer that changes the flow: it may call next not at all, once, or several times, one after another;
// what an earlier call of next returned is superseded by the next, and the layer gets rid of it. Wrap is called once,
// when the pipeline is built.
type TypedLayer[T any] interface {
	Layer
	Wrap(next Next[T]) Next[T]
}

// stateful is a layer whose state has a source of its own.
type stateful interface {
	stateSource() *events.Source
}

// budgeted is a layer that may use a RetryBudget, nil if it does not.
type budgeted interface {
	retryBudget() *RetryBudget
}
