package console

import (
	"slices"
	"time"

	"github.com/telltale-go/telltale/events"
)

// state is what state.json tells, and the page shows.
type state struct {
	Now time.Time `json:"now"`
	// Measured is how long rates and latency were measured, at most 10 s; 0 when somebody has just begun to look.
	Measured   float64    `json:"measured_s"`
	History    float64    `json:"history_s"`
	Viewers    int        `json:"viewers"`
	MaxViewers int        `json:"max_viewers"`
	LeftOut    missing    `json:"events_left_out"`
	Pipelines  []pipeline `json:"pipelines"`
	Breakers   []shared   `json:"breakers"`
	Limits     []shared   `json:"limits"` // limiters, budgets and whatever else has a state of its own
}

type pipeline struct {
	ID       uint64    `json:"id"`
	Name     string    `json:"name"`
	Layers   []layer   `json:"layers"` // the outermost first
	Traffic  *rates    `json:"traffic,omitempty"`
	Warnings []warning `json:"warnings,omitempty"`
}

type warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type layer struct {
	Name     string  `json:"name"`
	Type     string  `json:"type"`
	Settings string  `json:"settings,omitempty"`
	Shared   uint64  `json:"shared_id,omitempty"` // the id of the state that it shares
	State    string  `json:"state,omitempty"`     // of a breaker
	Did      string  `json:"did,omitempty"`       // what PerSecond counts
	Rate     float64 `json:"per_s"`
}

// shared is a state that layers of several pipelines may use.
type shared struct {
	ID          uint64           `json:"id"`
	Name        string           `json:"name"`
	Type        string           `json:"type"`
	Settings    string           `json:"settings,omitempty"`
	UsedBy      []user           `json:"used_by"`
	Rejected    float64          `json:"rejected_per_s"`
	Breaker     *breaker         `json:"breaker,omitempty"`
	Limiter     *limiter         `json:"limiter,omitempty"`
	Budget      *budget          `json:"budget,omitempty"`
	Timeline    []timelineSpan   `json:"timeline,omitempty"`    // the oldest first; what is not known is left out
	Transitions []toldTransition `json:"transitions,omitempty"` // the last ones, the oldest first
	Length      float64          `json:"-"`                     // of the timeline, in seconds
}

type user struct {
	ID   uint64 `json:"id"`
	Name string `json:"name"`
}

type breaker struct {
	State        events.State `json:"state"`
	Since        time.Time    `json:"since"`
	NextProbe    *float64     `json:"next_probe_s,omitempty"` // in how many seconds an open one lets a probe through
	Calls        int64        `json:"calls"`
	Failures     int64        `json:"failures"`
	FailureRatio float64      `json:"failure_ratio"`
	Limit        float64      `json:"limit"`
}

type limiter struct {
	Limit  int64 `json:"limit"`
	Usage  int64 `json:"usage"`
	Queued int64 `json:"queued"`
}

type budget struct {
	Available int64 `json:"available"`
	Limit     int64 `json:"limit"`
}

// timelineSpan is a time in one state, in seconds before now. Short states are widened to a column of the timeline.
type timelineSpan struct {
	From  float64      `json:"from_s"`
	To    float64      `json:"to_s"`
	State events.State `json:"state"`
}

type toldTransition struct {
	At     time.Time     `json:"at"`
	From   events.State  `json:"from"`
	To     events.State  `json:"to"`
	Reason events.Reason `json:"reason"`
}

// NotClosed counts the breakers that let no call, or few, through.
func (s *state) NotClosed() int {
	n := 0
	for _, b := range s.Breakers {
		switch b.Breaker.State {
		case events.StateOpen, events.StateHalfOpen, events.StateForcedOpen:
			n++
		case events.StateClosed, events.StateDisabled:
		}
	}
	return n
}

// Latest returns the last transitions, the newest first.
func (s shared) Latest() []toldTransition {
	latest := slices.Clone(s.Transitions)
	slices.Reverse(latest)
	return latest
}
