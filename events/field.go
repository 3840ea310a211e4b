package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"
)

// Keys of the fields: the same in logs, JSON, span attributes and (dots become underscores) metric labels.
const (
	KeyEventName     = "event.name"
	KeyPipelineName  = "resilience.pipeline.name"
	KeyLayerName     = "resilience.layer.name"
	KeyLayerType     = "resilience.layer.type"
	KeyOutcome       = "resilience.outcome"
	KeyReason        = "resilience.reason"
	KeyAttemptKind   = "resilience.attempt.kind"
	KeyAttemptNumber = "resilience.attempt.number"
	KeyAttempts      = "resilience.execution.attempts"
	KeyExecution     = "resilience.execution.id"
	KeyState         = "resilience.circuit_breaker.state"
	KeyStateFrom     = "resilience.circuit_breaker.state.from"
	KeyShadow        = "resilience.circuit_breaker.shadow"
	KeySeq           = "resilience.circuit_breaker.seq"
	KeyFlightRole    = "resilience.singleflight.role"
	KeyFlightLeader  = "resilience.singleflight.leader.id"
	KeyFault         = "resilience.chaos.fault"
	KeyWarning       = "resilience.warning"
	KeyCallback      = "resilience.callback"
	KeyHandledEvent  = "resilience.handled_event"
	KeyErrorType     = "error.type"
	KeyDuration      = "duration_s"
	KeyWorking       = "working_s"
	KeyBackoff       = "backoff_s"
	KeyQueued        = "queued_s"
	KeyDelay         = "delay_s"
	KeyRetryAfter    = "retry_after_s"
	KeyLimit         = "limit_s"
	KeyCalls         = "calls"
	KeyFailures      = "failures"
	KeyFailureRatio  = "failure_ratio"
	KeyThreshold     = "limit"
	KeySlowCalls     = "slow_calls"
	KeySlowRatio     = "slow_ratio"
	KeySlowLimit     = "slow_limit"
	KeyCooldown      = "cooldown_s"
	KeyStarted       = "started"
	KeyLimitFrom     = "limit_from"
	KeyRate          = "rate"
	KeyKeys          = "keys"
	KeyMessage       = "message"
)

// Field is one thing an event tells. Value is a string, an int64 or a float64 (times in seconds). No field holds a
// call's key, a value, or an error's text.
type Field struct {
	Key   string
	Value any
}

// Fields lists what an event tells, its name first. It allocates: it is for logs and pages, not for counters.
func Fields(e Event) []Field {
	if e == nil {
		return nil
	}
	m := e.Header()
	f := append(make([]Field, 0, 16), Field{KeyEventName, e.EventName()})
	if s := m.Source; s != nil {
		if s.Pipeline() != "" {
			f = append(f, Field{KeyPipelineName, s.Pipeline()})
		}
		if s.Layer() != "" {
			f = append(f, Field{KeyLayerName, s.Layer()}, Field{KeyLayerType, s.Type()})
		}
	}
	if m.Execution != 0 {
		f = append(f, Field{KeyExecution, int64(m.Execution)})
	}
	if m.Attempt != 0 {
		f = append(f, Field{KeyAttemptNumber, int64(m.Attempt)})
	}
	return e.appendFields(f)
}

// ErrorOf returns the failure that an event is about, nil if it is about none. Its text may hold personal data.
func ErrorOf(e Event) error {
	switch e := e.(type) {
	case ExecutionFinished:
		return e.Err
	case AttemptFinished:
		return e.Err
	case RetryScheduled:
		return e.Err
	case RetryStopped:
		return e.Err
	case CallRejected:
		return e.Err
	case TimedOut:
		return e.Err
	case LateResult:
		return e.Err
	case BreakerStateChanged:
		return e.Err
	case DiscardFailed:
		return e.Err
	case HedgeSettled:
		return e.Err
	case FallbackUsed:
		return e.Cause
	case FaultInjected:
		return e.Err
	}
	return nil
}

var errNilEvent = errors.New("events: the event is nil")

// AppendJSON appends the event as one JSON object on one line: "time" in RFC 3339 and its [Fields]. Its error is that of a
// number that JSON has not (NaN, infinite), or of a nil event; b is then returned as it was.
func AppendJSON(b []byte, e Event) ([]byte, error) {
	if e == nil {
		return b, errNilEvent
	}
	out := bytes.NewBuffer(b)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	write := func(v any) error {
		if err := enc.Encode(v); err != nil {
			return err
		}
		out.Truncate(out.Len() - 1) // Encode ends with a newline
		return nil
	}
	out.WriteString(`{"time":`)
	if err := write(e.Header().At.Format(time.RFC3339Nano)); err != nil {
		return b, err
	}
	for _, f := range Fields(e) {
		out.WriteByte(',')
		if err := write(f.Key); err != nil {
			return b, err
		}
		out.WriteByte(':')
		if err := write(f.Value); err != nil {
			return b, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func appendReason(f []Field, r Reason) []Field {
	if r == 0 {
		return f
	}
	return append(f, Field{KeyReason, r.String()})
}

func appendError(f []Field, err error) []Field {
	if err == nil {
		return f
	}
	return append(f, Field{KeyErrorType, ErrorType(err)})
}
