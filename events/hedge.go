package events

import "time"

// HedgeStarted: the operation is started once more, beside the runs that have not answered yet.
type HedgeStarted struct {
	Meta                // Attempt is the hedge's own
	Delay time.Duration // since the run before it was started
}

// HedgeSettled: a call that a Hedge layer started has its outcome. It is published once a call, also if no hedge was needed.
type HedgeSettled struct {
	Meta                // Attempt is the one whose outcome the call has, 0 if it has none: the caller left
	Kind    AttemptKind // AttemptHedge if that was a hedge, 0 if the call has no outcome
	Started int         // runs of what is inside the layer, the first included
	Err     error
}

// HedgeDenied: a hedge was due, and its budget had nothing left. What runs goes on.
type HedgeDenied struct {
	Meta   // Attempt is the one that the hedge would have been
	Reason Reason
}

func (HedgeStarted) EventName() string { return "hedge.started" }
func (HedgeSettled) EventName() string { return "hedge.settled" }
func (HedgeDenied) EventName() string  { return "hedge.denied" }

func (e HedgeStarted) appendFields(f []Field) []Field {
	return append(f, Field{KeyDelay, e.Delay.Seconds()})
}

func (e HedgeSettled) appendFields(f []Field) []Field {
	if e.Kind != 0 {
		f = append(f, Field{KeyAttemptKind, e.Kind.String()})
	}
	return appendError(append(f, Field{KeyStarted, int64(e.Started)}), e.Err)
}

func (e HedgeDenied) appendFields(f []Field) []Field { return appendReason(f, e.Reason) }
