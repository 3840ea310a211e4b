package events

import "time"

// ExecutionStarted: a call of a pipeline begins.
type ExecutionStarted struct{ Meta }

// ExecutionFinished: a call of a pipeline has ended. It explains the call: how it ended, why, which layer decided, and
// where the time went.
type ExecutionFinished struct {
	Meta
	Outcome Outcome
	// Reason and Layer tell what decided a call that did not simply succeed or fail: the rejection, the stopped retry,
	// the timeout, the fallback that answered. Zero where nothing did.
	Reason Reason
	Layer  *Source
	// Err is the failure as the layers saw it: for a failing value, what Classify said of it, although the caller's
	// error is nil. Nil on success.
	Err error
	// Attempts is how many times the operation ran; 0 for a call that was rejected outright.
	Attempts int
	// Duration is the whole call's. Working is the part of it in which the operation ran, Backoff the waits between
	// attempts, Queued the waits for admission.
	Duration, Working, Backoff, Queued time.Duration
}

// AttemptStarted: the operation is about to run.
type AttemptStarted struct {
	Meta
	Kind AttemptKind
	// Delay is the backoff that was waited before this attempt.
	Delay time.Duration
}

// AttemptFinished: the operation has ended. It is published for every AttemptStarted, also when the operation panics.
type AttemptFinished struct {
	Meta
	Kind     AttemptKind
	Outcome  Outcome
	Err      error // nil on success
	Duration time.Duration
}

func (ExecutionStarted) EventName() string  { return "execution.started" }
func (ExecutionFinished) EventName() string { return "execution.finished" }
func (AttemptStarted) EventName() string    { return "attempt.started" }
func (AttemptFinished) EventName() string   { return "attempt.finished" }

func (ExecutionStarted) appendFields(f []Field) []Field { return f }

func (e ExecutionFinished) appendFields(f []Field) []Field {
	f = append(f, Field{KeyOutcome, e.Outcome.String()})
	f = appendReason(f, e.Reason)
	if e.Layer != nil && e.Layer != e.Source {
		f = append(f, Field{KeyLayerName, e.Layer.Layer()}, Field{KeyLayerType, e.Layer.Type()})
	}
	f = append(f, Field{KeyAttempts, int64(e.Attempts)}, Field{KeyDuration, e.Duration.Seconds()},
		Field{KeyWorking, e.Working.Seconds()}, Field{KeyBackoff, e.Backoff.Seconds()}, Field{KeyQueued, e.Queued.Seconds()})
	return appendError(f, e.Err)
}

func (e AttemptStarted) appendFields(f []Field) []Field {
	return append(f, Field{KeyAttemptKind, e.Kind.String()}, Field{KeyDelay, e.Delay.Seconds()})
}

func (e AttemptFinished) appendFields(f []Field) []Field {
	f = append(f, Field{KeyAttemptKind, e.Kind.String()}, Field{KeyOutcome, e.Outcome.String()},
		Field{KeyDuration, e.Duration.Seconds()})
	return appendError(f, e.Err)
}
