package events

import "slices"

// Outcome tells how an execution or an attempt ended.
type Outcome uint8

const (
	// OutcomeSuccess: the operation returned what its pipeline calls a success.
	OutcomeSuccess Outcome = 1 + iota
	// OutcomeFallback: a Fallback layer answered for a failure: neither plain success nor failure.
	OutcomeFallback
	// OutcomeFailure: the operation ran and failed: an error, a failing value or a panic.
	OutcomeFailure
	// OutcomeRejected: a layer refused, and that decided the call.
	OutcomeRejected
	// OutcomeTimeout: a Timeout layer expired.
	OutcomeTimeout
	// OutcomeCanceled: the caller's own context ended, or a sibling won.
	OutcomeCanceled
)

var outcomeNames = []string{"", "success", "fallback", "failure", "rejected", "timeout", "canceled"}

// Outcomes lists every Outcome.
func Outcomes() []Outcome { return enumAll[Outcome](outcomeNames) }

// AttemptOutcomes lists the outcomes that an attempt can have: none is rejected, since then the operation does
// not run, and none is a fallback, which is a layer's.
func AttemptOutcomes() []Outcome {
	return []Outcome{OutcomeSuccess, OutcomeFailure, OutcomeTimeout, OutcomeCanceled}
}

// OutcomesOf lists the outcomes that calls of a pipeline can have: one is a fallback only where a Fallback layer is.
// Adapters make their series from it before the first call.
func OutcomesOf(pipeline *Source) []Outcome {
	all := Outcomes()
	if !pipeline.has(TypeFallback) {
		all = slices.DeleteFunc(all, func(o Outcome) bool { return o == OutcomeFallback })
	}
	return all
}

// String returns the outcome's name, as metrics and logs use it.
func (o Outcome) String() string { return enumName("Outcome", outcomeNames, o) }

// MarshalText implements encoding.TextMarshaler.
func (o Outcome) MarshalText() ([]byte, error) { return enumText("Outcome", outcomeNames, o) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Outcome) UnmarshalText(text []byte) error {
	return enumParse("Outcome", outcomeNames, o, text)
}

// AttemptKind tells why an attempt was started.
type AttemptKind uint8

const (
	// AttemptInitial is the first run of the operation.
	AttemptInitial AttemptKind = 1 + iota
	// AttemptRetry is a run after one that failed.
	AttemptRetry
	// AttemptHedge is a run beside others that have not answered yet.
	AttemptHedge
)

var attemptKindNames = []string{"", "initial", "retry", "hedge"}

// AttemptKinds lists every AttemptKind.
func AttemptKinds() []AttemptKind { return enumAll[AttemptKind](attemptKindNames) }

// AttemptKindsOf lists the kinds of attempts that the layers of a pipeline start: retries and hedges only where such a
// layer is. A layer of the user's that runs the operation again starts more.
func AttemptKindsOf(pipeline *Source) []AttemptKind {
	all := []AttemptKind{AttemptInitial}
	if pipeline.has(TypeRetry) {
		all = append(all, AttemptRetry)
	}
	if pipeline.has(TypeHedge) {
		all = append(all, AttemptHedge)
	}
	return all
}

// String returns the kind's name, as metrics and logs use it.
func (k AttemptKind) String() string { return enumName("AttemptKind", attemptKindNames, k) }

// MarshalText implements encoding.TextMarshaler.
func (k AttemptKind) MarshalText() ([]byte, error) {
	return enumText("AttemptKind", attemptKindNames, k)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *AttemptKind) UnmarshalText(text []byte) error {
	return enumParse("AttemptKind", attemptKindNames, k, text)
}
