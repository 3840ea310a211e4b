package events

import "time"

// Event is one typed fact. The set of events is closed: [Catalogue] lists it.
type Event interface {
	// EventName is the event's stable name, such as "retry.scheduled".
	EventName() string
	// Header returns what every event carries.
	Header() Meta
	// appendFields adds the event's own fields, those of its Meta excepted.
	appendFields([]Field) []Field
}

// Meta is what every event carries.
type Meta struct {
	// Source is the pipeline, layer or shared state that tells. Adapters key what they keep by Source.Index, or use
	// a [Table]; holding the pointer keeps a dropped pipeline alive.
	Source *Source
	// Key is the call's key (DoKey), empty if it has none. It may be personal: adapters leave it out unless asked.
	Key string
	// Execution numbers the call within the process. It is 0 outside of a call, and where a breaker's state change is
	// the only thing listened to.
	Execution uint64
	// Attempt is the 1-based number of the attempt it is about, as far as the layer that tells knows: one outside of
	// every Retry always says 1. 0 for the events of executions, and outside of a call.
	Attempt int
	// Nested tells that the call was made by a subscriber, with a context marked by [Nest]. Adapters ignore such
	// events, so that an exporter whose own client is resilient cannot feed itself.
	Nested bool
	// At is the time of the event. Within one call the differences between times are those of the monotonic clock, and a
	// step of the wall clock shows up to 100 ms late.
	At time.Time
}

// Header implements [Event].
func (m Meta) Header() Meta { return m }
