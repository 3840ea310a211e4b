package events

import (
	"context"
	"time"
)

// FallbackUsed: a Fallback layer answered instead of what is inside it.
type FallbackUsed struct {
	Meta
	// Outcome is OutcomeFallback, or OutcomeFailure if the fallback failed, too.
	Outcome Outcome
	Cause   error // the failure that it answered for; for a failing value what Classify said of it
	Err     error // the fallback's own, nil if it succeeded
}

// FlightRole tells what a call is to a singleflight.
type FlightRole uint8

const (
	// FlightLeader is the call that runs what is inside the layer.
	FlightLeader FlightRole = 1 + iota
	// FlightFollower shares a leader's outcome.
	FlightFollower
)

var flightRoleNames = []string{"", "leader", "follower"}

// FlightRoles lists every FlightRole.
func FlightRoles() []FlightRole { return enumAll[FlightRole](flightRoleNames) }

// String returns the role's name, as metrics and logs use it.
func (r FlightRole) String() string { return enumName("FlightRole", flightRoleNames, r) }

// MarshalText implements encoding.TextMarshaler.
func (r FlightRole) MarshalText() ([]byte, error) { return enumText("FlightRole", flightRoleNames, r) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *FlightRole) UnmarshalText(text []byte) error {
	return enumParse("FlightRole", flightRoleNames, r, text)
}

// FlightJoined: a call with a key entered a Singleflight layer, and leads or follows.
type FlightJoined struct {
	Meta
	Role FlightRole
	// Leader is the Meta.Execution of the leader, the call's own if it leads; 0 if nobody listened when it began.
	Leader uint64
	// LeaderContext has the values of the leader's context, for links to its span; nil for the leader itself.
	LeaderContext context.Context
}

// LimitChanged: a limiter has another limit than before.
type LimitChanged struct {
	Meta
	From, To int64 // calls at once; of a rate limiter, the burst
	// Rate is a rate limiter's new rate in calls a second, 0 for other limiters.
	Rate float64
	// Reason is ReasonManual or, where the limiter found the limit itself, ReasonAdapted.
	Reason Reason
}

// KeyEvicted: a Keyed layer dropped the state of Meta.Key, which nobody used.
type KeyEvicted struct {
	Meta
	Keys int // how many it keeps
}

// ShadowRejected: a breaker in shadow mode would have refused the call, and let it through.
type ShadowRejected struct {
	Meta
	Reason     Reason
	RetryAfter time.Duration // 0: not known
}

func (FallbackUsed) EventName() string   { return "fallback.used" }
func (FlightJoined) EventName() string   { return "singleflight.joined" }
func (LimitChanged) EventName() string   { return "limit.changed" }
func (KeyEvicted) EventName() string     { return "key.evicted" }
func (ShadowRejected) EventName() string { return "call.shadow_rejected" }

func (e FallbackUsed) appendFields(f []Field) []Field {
	f = append(f, Field{KeyOutcome, e.Outcome.String()})
	return appendError(f, e.Cause)
}

func (e FlightJoined) appendFields(f []Field) []Field {
	f = append(f, Field{KeyFlightRole, e.Role.String()})
	if e.Leader != 0 {
		f = append(f, Field{KeyFlightLeader, int64(e.Leader)})
	}
	return f
}

func (e LimitChanged) appendFields(f []Field) []Field {
	f = append(f, Field{KeyLimitFrom, e.From}, Field{KeyThreshold, e.To})
	if e.Rate > 0 {
		f = append(f, Field{KeyRate, e.Rate})
	}
	return appendReason(f, e.Reason)
}

func (e KeyEvicted) appendFields(f []Field) []Field { return append(f, Field{KeyKeys, int64(e.Keys)}) }

func (e ShadowRejected) appendFields(f []Field) []Field {
	f = appendReason(f, e.Reason)
	if e.RetryAfter > 0 {
		f = append(f, Field{KeyRetryAfter, e.RetryAfter.Seconds()})
	}
	return f
}
