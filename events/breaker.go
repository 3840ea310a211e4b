package events

import "time"

// BreakerStateChanged: a circuit breaker went from one state to another. Each transition is published once, in order,
// with a sequence number that grows by one; a gap shows that events were dropped (see [Outbox]). Where the source is a Keyed
// layer's, there is a breaker, and a sequence, for each Meta.Key.
type BreakerStateChanged struct {
	Meta
	From, To State
	Reason   Reason
	Seq      uint64
	// Calls and Failures are what the breaker had counted when the decision fell; FailureRatio is their quotient, and
	// Limit what it is measured against: a ratio, or a number of consecutive failures.
	Calls, Failures     int64
	FailureRatio, Limit float64
	// SlowCalls is how many of Calls were slow, SlowRatio their share, SlowLimit what that is measured against; all 0 where
	// slow calls are not counted.
	SlowCalls            int64
	SlowRatio, SlowLimit float64
	// Cooldown is how long the breaker stays open; 0 unless To is StateOpen.
	Cooldown time.Duration
	// Shadow tells that the breaker lets every call through, whatever its state.
	Shadow bool
	Err    error // the last failure, nil if there was none
}

func (BreakerStateChanged) EventName() string { return "circuit_breaker.state_changed" }

func (e BreakerStateChanged) appendFields(f []Field) []Field {
	f = append(f, Field{KeyStateFrom, e.From.String()}, Field{KeyState, e.To.String()})
	f = appendReason(f, e.Reason)
	f = append(f, Field{KeyCalls, e.Calls}, Field{KeyFailures, e.Failures}, Field{KeyFailureRatio, e.FailureRatio},
		Field{KeyThreshold, e.Limit}, Field{KeyCooldown, e.Cooldown.Seconds()}, Field{KeySeq, int64(e.Seq)})
	if e.SlowLimit > 0 {
		f = append(f, Field{KeySlowCalls, e.SlowCalls}, Field{KeySlowRatio, e.SlowRatio}, Field{KeySlowLimit, e.SlowLimit})
	}
	if e.Shadow {
		f = append(f, Field{KeyShadow, "true"})
	}
	return appendError(f, e.Err)
}
