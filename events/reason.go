package events

// Reason tells why: a call was rejected, a retry stopped, a breaker changed its state.
type Reason uint8

const (
	// Reasons of a rejection.

	// ReasonOpen: the circuit breaker is open.
	ReasonOpen Reason = 1 + iota
	// ReasonForcedOpen: the circuit breaker was opened by hand.
	ReasonForcedOpen
	// ReasonProbing: the circuit breaker is half-open and all its probes are under way.
	ReasonProbing
	// ReasonFull: the bulkhead, and its queue if it has one, are full.
	ReasonFull
	// ReasonQueueTimeout: the call waited in a queue for as long as it may.
	ReasonQueueTimeout
	// ReasonRate: a rate is exceeded.
	ReasonRate
	// ReasonShed: load is shed, calls of a lower priority first.
	ReasonShed

	// Reasons of a retry that ended without success.

	// ReasonExhausted: the last attempt failed.
	ReasonExhausted
	// ReasonNotRetryable: the failure is not one that is retried.
	ReasonNotRetryable
	// ReasonDeadline: the next attempt would start after the nearest deadline.
	ReasonDeadline
	// ReasonPermanent: the operation marked its error with Permanent.
	ReasonPermanent
	// ReasonCanceled: the context ended.
	ReasonCanceled
	// ReasonNotReplayable: the request cannot be sent a second time.
	ReasonNotReplayable
	// ReasonStopped: OnRetry returned false.
	ReasonStopped
	// ReasonBudget: the budget of extra attempts has nothing left.
	ReasonBudget

	// Reasons of a state change.

	// ReasonRatio: the failure ratio reached its limit.
	ReasonRatio
	// ReasonConsecutive: as many calls as allowed failed in a row.
	ReasonConsecutive
	// ReasonSlow: as large a share of calls as allowed was slow.
	ReasonSlow
	// ReasonProbeFailed: a probe failed or was given up.
	ReasonProbeFailed
	// ReasonProbesOK: enough probes succeeded.
	ReasonProbesOK
	// ReasonCooldown: the cooldown has passed.
	ReasonCooldown
	// ReasonManual: somebody called Reset, ForceOpen, Disable or Enable, or set another limit.
	ReasonManual

	// Reason of another limit.

	// ReasonAdapted: the limiter found it by what it measures.
	ReasonAdapted
)

var reasonNames = []string{"",
	"open", "forced_open", "probing", "full", "queue_timeout", "rate", "shed",
	"exhausted", "not_retryable", "deadline", "permanent", "canceled", "not_replayable", "stopped", "budget",
	"ratio", "consecutive", "slow", "probe_failed", "probes_ok", "cooldown", "manual",
	"adapted",
}

// Reasons lists every Reason.
func Reasons() []Reason { return enumAll[Reason](reasonNames) }

// RejectionReasons lists the reasons that a layer of this type gives for a rejection; for a type it does not know, all
// that there are. Adapters make their series from it before the first rejection. A Timeout gives none, unless it abandons:
// while as many operations as may be are abandoned it rejects with ReasonFull.
func RejectionReasons(layerType string) []Reason {
	switch layerType {
	case TypeBreaker:
		return []Reason{ReasonOpen, ReasonForcedOpen, ReasonProbing}
	case TypeBulkhead:
		return []Reason{ReasonFull, ReasonQueueTimeout, ReasonShed}
	case TypeRateLimiter:
		return []Reason{ReasonRate}
	case TypeAdaptiveLimiter:
		return []Reason{ReasonFull, ReasonShed}
	case TypeRetry, TypeTimeout, TypeAround, TypePipeline, TypeHedge, TypeSingleflight, TypeFallback, TypeChaos, TypeRetryBudget:
		return nil
	}
	return []Reason{ReasonOpen, ReasonForcedOpen, ReasonProbing, ReasonFull, ReasonQueueTimeout, ReasonRate, ReasonShed}
}

// StopReasons lists the reasons for which a retry ends without success.
func StopReasons() []Reason {
	return []Reason{ReasonExhausted, ReasonNotRetryable, ReasonDeadline, ReasonPermanent, ReasonCanceled,
		ReasonNotReplayable, ReasonStopped, ReasonBudget}
}

// A Transition is a state a breaker can enter, and a reason for it.
type Transition struct {
	To     State
	Reason Reason
}

// Transitions lists every transition a breaker can make.
func Transitions() []Transition {
	return []Transition{
		{StateOpen, ReasonRatio}, {StateOpen, ReasonConsecutive}, {StateOpen, ReasonSlow}, {StateOpen, ReasonProbeFailed},
		{StateHalfOpen, ReasonCooldown},
		{StateClosed, ReasonProbesOK}, {StateClosed, ReasonManual},
		{StateForcedOpen, ReasonManual}, {StateDisabled, ReasonManual},
	}
}

// String returns the reason's name, as metrics and logs use it. The zero Reason, which means that there is nothing to
// tell, is the empty string.
func (r Reason) String() string {
	if r == 0 {
		return ""
	}
	return enumName("Reason", reasonNames, r)
}

// MarshalText implements encoding.TextMarshaler. The zero Reason is the empty text.
func (r Reason) MarshalText() ([]byte, error) {
	if r == 0 {
		return nil, nil
	}
	return enumText("Reason", reasonNames, r)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Reason) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*r = 0
		return nil
	}
	return enumParse("Reason", reasonNames, r, text)
}
