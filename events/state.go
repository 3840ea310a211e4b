package events

// State is a circuit breaker's state.
type State uint8

const (
	// StateClosed lets every call through and watches how they end.
	StateClosed State = 1 + iota
	// StateOpen rejects every call until the cooldown has passed.
	StateOpen
	// StateHalfOpen lets a few probes through.
	StateHalfOpen
	// StateForcedOpen rejects every call until told otherwise.
	StateForcedOpen
	// StateDisabled lets every call through and counts nothing, until told otherwise.
	StateDisabled
)

var stateNames = []string{"", "closed", "open", "half_open", "forced_open", "disabled"}

// States lists every State.
func States() []State { return enumAll[State](stateNames) }

// String returns the state's name, as metrics and logs use it.
func (s State) String() string { return enumName("State", stateNames, s) }

// MarshalText implements encoding.TextMarshaler.
func (s State) MarshalText() ([]byte, error) { return enumText("State", stateNames, s) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *State) UnmarshalText(text []byte) error { return enumParse("State", stateNames, s, text) }
