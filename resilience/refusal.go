package resilience

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/telltale-go/telltale/events"
)

// BreakerOpenError is a circuit breaker's refusal. One object serves all calls that are refused for the same opening.
type BreakerOpenError struct {
	Name  string       // the breaker's
	State events.State // StateOpen, StateForcedOpen, or StateHalfOpen when all its probes are under way
	// LastFailure is the failure that opened the breaker, nil if there was none (ForceOpen). It was another call's, so
	// it is not part of the error's tree.
	LastFailure error
	// SlowRatio is the share of calls, or of probes, that took longer than SlowCall, if that opened the breaker; 0 if something
	// else did.
	SlowRatio float64
	SlowCall  time.Duration

	until    int64         // the end of the cooldown
	cooldown time.Duration // the whole; 0 unless State is StateOpen
	seq      uint64
}

// RetryAfter returns what is left of the cooldown: 0 when it has passed, when the breaker is probing, and when it
// was opened by hand, where nobody knows.
func (e *BreakerOpenError) RetryAfter() time.Duration {
	return cooling(e.until, e.cooldown, now())
}

func (e *BreakerOpenError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "resilience: circuit breaker %s is %s", e.Name, spaced(e.State.String()))
	if d := e.RetryAfter(); d > 0 {
		fmt.Fprintf(&b, ", retry after %v", d.Round(time.Millisecond))
	}
	if e.SlowRatio > 0 {
		fmt.Fprintf(&b, " (%.3g%% of the calls took longer than %v)", 100*e.SlowRatio, e.SlowCall)
	}
	if e.LastFailure != nil {
		fmt.Fprintf(&b, " (last failure: %v)", e.LastFailure)
	}
	return b.String()
}

// Is matches [ErrBreakerOpen].
func (e *BreakerOpenError) Is(target error) bool { return target == ErrBreakerOpen }

// ErrorType is the class for the telemetry attribute error.type.
func (e *BreakerOpenError) ErrorType() string { return "breaker_open" }

func (e *BreakerOpenError) refusal() refusal {
	reason := events.ReasonOpen
	switch e.State {
	case events.StateForcedOpen:
		reason = events.ReasonForcedOpen
	case events.StateHalfOpen:
		reason = events.ReasonProbing
	}
	return refusal{reason, e.RetryAfter(), e.seq}
}

// LimitedError is the refusal of a bulkhead, a rate limiter, an adaptive limiter, or of a gate of one's own made with
// [Reject]; and of a Timeout, while as many operations as may be are abandoned.
type LimitedError struct {
	Layer  string        // the layer's name
	Reason events.Reason // such as full, queue_timeout, shed, rate
	After  time.Duration // when it is worth coming back; 0: not known
	Err    error         // what a gate of one's own said; nil otherwise

	// What follows is zero for a gate of one's own.
	Type   string        // the layer's, one of the Type constants of package events
	Limit  int64         // how many calls may run at once; of a rate limiter how many may start in each Per
	Usage  int64         // how many ran just then; 0 of a rate limiter
	Queued int64         // how many waited just then; 0 of a rate limiter
	Per    time.Duration // of a rate limiter
}

// limited makes the error of a limit on how many run at once.
func limited(name, layerType string, reason events.Reason, r events.LimiterReading) *LimitedError {
	return &LimitedError{Layer: name, Type: layerType, Reason: reason, Limit: r.Limit, Usage: r.Usage, Queued: r.Queued}
}

// Reject returns the rejection of a [Gate]. reason is one of those that [events.RejectionReasons] lists for an unknown
// type, since it becomes a metric label: the nearest will do. Another one becomes ReasonShed. retryAfter 0 means not
// known.
func Reject(reason events.Reason, retryAfter time.Duration) error {
	if !slices.Contains(events.RejectionReasons(events.TypeCustom), reason) {
		reason = events.ReasonShed
	}
	return &LimitedError{Reason: reason, After: max(retryAfter, 0)}
}

// RetryAfter returns After.
func (e *LimitedError) RetryAfter() time.Duration { return e.After }

func (e *LimitedError) Error() string {
	var b strings.Builder
	b.WriteString("resilience: ")
	if e.Type != "" && e.Type != events.TypeTimeout { // whose errors have its name alone
		b.WriteString(spaced(e.Type) + " ")
	}
	fmt.Fprintf(&b, "%s rejected the call: %s", or(e.Layer, "limiter"), spaced(e.Reason.String()))
	switch {
	case e.Limit == 0:
	case e.Per > 0:
		fmt.Fprintf(&b, " (%d per %v)", e.Limit, e.Per)
	case e.Queued > 0:
		fmt.Fprintf(&b, " (%d of %d running, %d waiting)", e.Usage, e.Limit, e.Queued)
	default:
		fmt.Fprintf(&b, " (%d of %d running)", e.Usage, e.Limit)
	}
	if e.After > 0 {
		fmt.Fprintf(&b, ", retry after %v", e.After)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// spaced writes a name of telemetry's as words.
func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// Is matches [ErrLimited].
func (e *LimitedError) Is(target error) bool { return target == ErrLimited }

// Unwrap returns what a gate of one's own said.
func (e *LimitedError) Unwrap() error { return e.Err }

// ErrorType is the class for the telemetry attribute error.type.
func (e *LimitedError) ErrorType() string { return "limited" }

func (e *LimitedError) refusal() refusal { return refusal{e.Reason, e.After, 0} }

// refusal is what a layer's refusal tells.
type refusal struct {
	reason     events.Reason
	retryAfter time.Duration
	stateSeq   uint64
}

// refusalIn returns the refusal that err is or wraps, looking along single wrapping alone: an error that joins a refusal
// with other failures is no plain refusal.
func refusalIn(err error) (interface{ refusal() refusal }, bool) {
	for err != nil {
		switch e := err.(type) {
		case *BreakerOpenError:
			return e, true
		case *LimitedError:
			return e, true
		case *refusedRetry:
			return refusalIn(e.refusal)
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		default:
			return nil, false
		}
	}
	return nil, false
}

// refusedRetry is what a Retry returns when a layer inside refused an attempt after another had failed: both are found
// in it.
type refusedRetry struct{ refusal, last error }

func (e *refusedRetry) Error() string {
	if open, ok := e.refusal.(*BreakerOpenError); ok && same(open.LastFailure, e.last) {
		return e.refusal.Error() // it says so already
	}
	return e.refusal.Error() + " (last attempt: " + e.last.Error() + ")"
}
func (e *refusedRetry) Unwrap() []error { return []error{e.refusal, e.last} }
