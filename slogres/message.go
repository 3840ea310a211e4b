package slogres

import "github.com/telltale-go/telltale/events"

// message returns an event's sentence. Sentences are constant, so that records can be grouped by them; what differs
// stands in the attributes.
func message(e events.Event) string {
	switch e := e.(type) {
	case events.ExecutionStarted:
		return "call started"
	case events.ExecutionFinished:
		return ofExecution(e.Outcome)
	case events.AttemptStarted:
		return "attempt started"
	case events.AttemptFinished:
		return ofAttempt(e.Outcome)
	case events.RetryScheduled:
		return "retry scheduled"
	case events.RetryStopped:
		return "retry stopped"
	case events.CallRejected:
		return "call rejected by a layer"
	case events.TimedOut:
		return "timeout expired"
	case events.LateResult:
		return "result came late"
	case events.BreakerStateChanged:
		return ofBreaker(e.To)
	case events.HedgeStarted:
		return "hedge started"
	case events.HedgeSettled:
		return ofHedge(e.Kind)
	case events.HedgeDenied:
		return "hedge denied"
	case events.FallbackUsed:
		if e.Outcome == events.OutcomeFailure {
			return "fallback failed"
		}
		return "fallback used"
	case events.FlightJoined:
		return ofFlight(e.Role)
	case events.LimitChanged:
		return "limit changed"
	case events.KeyEvicted:
		return "key evicted"
	case events.ShadowRejected:
		return "call would have been rejected: circuit breaker in shadow mode"
	case events.FaultInjected:
		return ofFault(e.Fault)
	case events.ConfigWarning:
		return "configuration warning"
	case events.DiscardFailed:
		return "superseded value could not be discarded"
	case events.CallbackPanicked:
		return "callback panicked"
	case events.HandlerPanicked:
		return "event handler panicked"
	case events.SourceAdded:
		if isPipeline(e.Source) {
			return "pipeline added"
		}
		return "shared layer added"
	case events.SourceRemoved:
		if isPipeline(e.Source) {
			return "pipeline removed"
		}
		return "shared layer removed"
	}
	return ""
}

func ofExecution(o events.Outcome) string {
	switch o {
	case events.OutcomeSuccess:
		return "call succeeded"
	case events.OutcomeFallback:
		return "call answered by a fallback"
	case events.OutcomeFailure:
		return "call failed"
	case events.OutcomeRejected:
		return "call failed: rejected"
	case events.OutcomeTimeout:
		return "call failed: timed out"
	case events.OutcomeCanceled:
		return "call canceled"
	}
	return "call finished"
}

func ofAttempt(o events.Outcome) string {
	switch o {
	case events.OutcomeSuccess:
		return "attempt succeeded"
	case events.OutcomeFallback:
		return "attempt answered by a fallback" // no layer publishes it
	case events.OutcomeFailure:
		return "attempt failed"
	case events.OutcomeRejected:
		return "attempt rejected"
	case events.OutcomeTimeout:
		return "attempt timed out"
	case events.OutcomeCanceled:
		return "attempt canceled"
	}
	return "attempt finished"
}

func ofBreaker(to events.State) string {
	switch to {
	case events.StateClosed:
		return "circuit breaker closed"
	case events.StateOpen:
		return "circuit breaker opened"
	case events.StateHalfOpen:
		return "circuit breaker half-open"
	case events.StateForcedOpen:
		return "circuit breaker forced open"
	case events.StateDisabled:
		return "circuit breaker disabled"
	}
	return "circuit breaker changed its state"
}

func ofHedge(won events.AttemptKind) string {
	switch won {
	case events.AttemptHedge:
		return "hedge settled the call"
	case events.AttemptInitial, events.AttemptRetry:
		return "call settled without a hedge's outcome"
	}
	return "hedged call left without an outcome"
}

func ofFlight(r events.FlightRole) string {
	switch r {
	case events.FlightLeader:
		return "call leads a singleflight"
	case events.FlightFollower:
		return "call follows a singleflight"
	}
	return "call entered a singleflight"
}

func ofFault(f events.Fault) string {
	switch f {
	case events.FaultLatency:
		return "fault injected: latency"
	case events.FaultError:
		return "fault injected: error"
	case events.FaultValue:
		return "fault injected: value"
	case events.FaultPanic:
		return "fault injected: panic"
	}
	return "fault injected"
}

func isPipeline(s *events.Source) bool { return s != nil && s.Type() == events.TypePipeline }
