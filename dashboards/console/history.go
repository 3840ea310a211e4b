package console

import (
	"slices"
	"sync"
	"time"

	"github.com/telltale-go/telltale/events"
)

const (
	columns        = 240 // of a timeline
	lastTransition = 10  // how many transitions are told in words
)

// history is the last states of one breaker, in columns of equal width: each has the set of the states that the breaker
// was in, so that a state is seen however short it was, and a breaker that flaps takes no more memory than one at rest.
type history struct {
	width time.Duration // of a column

	mu          sync.Mutex // guards what follows; held for arithmetic only
	cells       [columns]stateSet
	head        int64         // the newest column, numbered since the console began; -1 for none
	state       events.State  // since the last transition; 0: none was seen
	until       time.Duration // what is known of the cells ends here, since the console began
	transitions []transition  // the last ones, the oldest first
}

type transition struct {
	at       time.Time
	from, to events.State
	reason   events.Reason
}

// stateSet is a set of states, a bit each.
type stateSet uint8

func (s stateSet) with(state events.State) stateSet { return s | 1<<state }

// worst returns the state of a set that matters most to whoever looks, 0 of the empty set.
func (s stateSet) worst() events.State {
	for _, state := range []events.State{events.StateForcedOpen, events.StateOpen, events.StateHalfOpen, events.StateDisabled, events.StateClosed} {
		if s&(1<<state) != 0 {
			return state
		}
	}
	return 0
}

// newHistory begins a breaker's history at now, the time since the console began.
func newHistory(length, now time.Duration) *history {
	return &history{width: length / columns, head: -1, until: now}
}

// enter notes a transition at now.
func (h *history) enter(e events.BreakerStateChanged, now time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fill(h.until, now, e.From)
	h.fill(now, now, e.To)
	h.state, h.until = e.To, max(h.until, now)
	h.transitions = append(h.transitions, transition{e.At, e.From, e.To, e.Reason})
	if over := len(h.transitions) - lastTransition; over > 0 {
		h.transitions = slices.Delete(h.transitions, 0, over)
	}
}

// fill adds a state to the columns from one time to another. mu is held.
func (h *history) fill(from, to time.Duration, state events.State) {
	last := int64(to / h.width)
	for c := max(int64(from/h.width), last-columns+1, 0); c <= last; c++ {
		if c <= h.head-columns {
			continue // forgotten
		}
		h.advance(c)
		h.cells[c%columns] = h.cells[c%columns].with(state)
	}
}

// advance makes c the newest column, if it is newer, and forgets what lies too far back then. mu is held.
func (h *history) advance(c int64) {
	for n := max(h.head+1, c-columns+1); n <= c; n++ {
		h.cells[n%columns] = 0
	}
	h.head = max(h.head, c)
}

// span is a run of columns with the same state: from column number From up to, and without, To. The newest is 239.
type span struct {
	From, To int
	State    events.State
}

// read returns the timeline up to now and the last transitions. The breaker's own reading tells what no transition has told:
// the state in which it was made, and that its cooldown has passed.
func (h *history) read(r events.BreakerReading, since, now time.Duration) ([]span, []transition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	since = min(since, now)
	if h.state != 0 {
		since = max(since, h.until)
		h.fill(h.until, since, h.state)
	}
	h.fill(max(since, 0), now, r.State)
	var spans []span
	newest := int64(now / h.width)
	for i := range columns {
		c := newest - columns + 1 + int64(i)
		if c < 0 || c <= h.head-columns || c > h.head {
			continue
		}
		state := h.cells[c%columns].worst()
		if state == 0 {
			continue
		}
		if n := len(spans); n > 0 && spans[n-1].To == i && spans[n-1].State == state {
			spans[n-1].To++
			continue
		}
		spans = append(spans, span{i, i + 1, state})
	}
	return spans, slices.Clone(h.transitions)
}
