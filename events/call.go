package events

import "time"

// RetryScheduled: an attempt failed and another is due after Delay. It does not prove that the attempt starts: the
// caller may leave first.
type RetryScheduled struct {
	Meta         // Attempt is the one that failed
	Delay        time.Duration
	Err          error // the failure; for a failing value what Classify said of it
	MaxAttempts  int   // 0: unlimited
	HintedByPeer bool  // the delay was raised to what the failure asked for (Retry-After)
}

// RetryStopped: a retry ends without success.
type RetryStopped struct {
	Meta     // Attempt is the last one
	Reason   Reason
	Err      error
	Attempts int
}

// CallRejected: a layer refused a call. The operation did not run, or not again.
type CallRejected struct {
	Meta
	Reason     Reason
	RetryAfter time.Duration // 0: not known
	StateSeq   uint64        // the Seq of the breaker's state change that it follows from; 0 for other layers
	Err        error
}

// TimedOut: a Timeout layer's limit passed before the operation returned.
type TimedOut struct {
	Meta
	Limit time.Duration
	Err   error // the operation's own error, nil if it had none but the context's
}

// LateResult: a result came when nobody counts on it any more: a value after its Timeout's limit (it is delivered
// all the same), the end of an operation that its Timeout has abandoned (its value is discarded), or the end of a call
// that its breaker admitted in a state it has left since (it is not counted).
type LateResult struct {
	Meta
	Outcome Outcome
	Err     error
}

func (RetryScheduled) EventName() string { return "retry.scheduled" }
func (RetryStopped) EventName() string   { return "retry.stopped" }
func (CallRejected) EventName() string   { return "call.rejected" }
func (TimedOut) EventName() string       { return "timeout.fired" }
func (LateResult) EventName() string     { return "result.late" }

func (e RetryScheduled) appendFields(f []Field) []Field {
	return appendError(append(f, Field{KeyDelay, e.Delay.Seconds()}), e.Err)
}

func (e RetryStopped) appendFields(f []Field) []Field {
	return appendError(append(appendReason(f, e.Reason), Field{KeyAttempts, int64(e.Attempts)}), e.Err)
}

func (e CallRejected) appendFields(f []Field) []Field {
	f = appendReason(f, e.Reason)
	if e.RetryAfter > 0 {
		f = append(f, Field{KeyRetryAfter, e.RetryAfter.Seconds()})
	}
	return f
}

func (e TimedOut) appendFields(f []Field) []Field {
	return appendError(append(f, Field{KeyLimit, e.Limit.Seconds()}), e.Err)
}

func (e LateResult) appendFields(f []Field) []Field {
	return appendError(append(f, Field{KeyOutcome, e.Outcome.String()}), e.Err)
}
