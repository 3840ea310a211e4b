package events

import "time"

// Fault is what a Chaos layer does to a call.
type Fault uint8

const (
	// FaultLatency: the call is delayed.
	FaultLatency Fault = 1 + iota
	// FaultError: the call fails.
	FaultError
	// FaultValue: the call returns a value that the operation did not.
	FaultValue
	// FaultPanic: the call panics.
	FaultPanic
)

var faultNames = []string{"", "latency", "error", "value", "panic"}

// Faults lists every Fault.
func Faults() []Fault { return enumAll[Fault](faultNames) }

// String returns the fault's name, as logs use it.
func (f Fault) String() string { return enumName("Fault", faultNames, f) }

// MarshalText implements encoding.TextMarshaler.
func (f Fault) MarshalText() ([]byte, error) { return enumText("Fault", faultNames, f) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Fault) UnmarshalText(text []byte) error { return enumParse("Fault", faultNames, f, text) }

// FaultInjected: a Chaos layer disturbed a call on purpose.
type FaultInjected struct {
	Meta
	Fault Fault
	Delay time.Duration // of FaultLatency
	Err   error         // of FaultError
}

// ConfigWarning: what was built can work, but hardly as it was meant. Each subscriber is told once, see [Warnings].
type ConfigWarning struct {
	Meta
	Code    string // stable: one of [WarningCodes]
	Message string // for people: what is odd, and what would not be
}

// DiscardFailed: a superseded value could not be discarded cleanly. The call's outcome is not changed by it.
type DiscardFailed struct {
	Meta
	Err error
}

// CallbackPanicked: a function of the user's that a layer calls (a predicate, OnRetry, Classify, Discard ...) panicked.
// The call goes on as if it had not been set. Or the operation did, in a run that nobody waits for any more.
type CallbackPanicked struct {
	Meta
	Callback string // the field's name, such as "Retry.If", or "operation"
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

func (FaultInjected) EventName() string    { return "fault.injected" }
func (ConfigWarning) EventName() string    { return "config.warning" }
func (DiscardFailed) EventName() string    { return "discard.failed" }
func (CallbackPanicked) EventName() string { return "callback.panicked" }
func (HandlerPanicked) EventName() string  { return "handler.panicked" }

func (e FaultInjected) appendFields(f []Field) []Field {
	f = append(f, Field{KeyFault, e.Fault.String()})
	if e.Delay > 0 {
		f = append(f, Field{KeyDelay, e.Delay.Seconds()})
	}
	return appendError(f, e.Err)
}

func (e ConfigWarning) appendFields(f []Field) []Field {
	return append(f, Field{KeyWarning, e.Code}, Field{KeyMessage, e.Message})
}

func (e DiscardFailed) appendFields(f []Field) []Field { return appendError(f, e.Err) }
func (e CallbackPanicked) appendFields(f []Field) []Field {
	return append(f, Field{KeyCallback, e.Callback})
}
func (e HandlerPanicked) appendFields(f []Field) []Field {
	return append(f, Field{KeyHandledEvent, e.Event})
}
