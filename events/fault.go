package events

// DiscardFailed: a superseded value could not be discarded cleanly. The call's outcome is not changed by it.
type DiscardFailed struct {
	Meta
	Err error
}

// CallbackPanicked: a function of the user's that a layer calls (a predicate, OnRetry, Classify, Discard ...) panicked.
// The call goes on as if it had not been set.
type CallbackPanicked struct {
	Meta
	Callback string // the field's name, such as "Retry.If"
	Value    any    // what it panicked with; adapters do not export it
}

// HandlerPanicked: a subscriber panicked. The call and the other subscribers are not affected. Its Meta is that of the
// event which was being handled, At excepted. Panics in handlers of this event and of nested calls' events are only
// counted ([Bus.HandlerPanics]), so that nobody who hears of them starts a circle.
type HandlerPanicked struct {
	Meta
	Event string // the name of the event it was handling
	Value any    // what it panicked with; adapters do not export it
}

func (DiscardFailed) EventName() string    { return "discard.failed" }
func (CallbackPanicked) EventName() string { return "callback.panicked" }
func (HandlerPanicked) EventName() string  { return "handler.panicked" }

func (e DiscardFailed) appendFields(f []Field) []Field { return appendError(f, e.Err) }
func (e CallbackPanicked) appendFields(f []Field) []Field {
	return append(f, Field{KeyCallback, e.Callback})
}
func (e HandlerPanicked) appendFields(f []Field) []Field {
	return append(f, Field{KeyHandledEvent, e.Event})
}
