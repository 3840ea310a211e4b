package resilience

import (
	"slices"
	"time"

	"github.com/telltale-go/telltale/events"
)

// model is a circuit breaker written as plainly as can be: lists of all that happened, and no care for cost. The
// machine must behave as it does.
type model struct {
	rules    breakerRules
	width    int64 // of a window's cell
	now      int64
	state    events.State
	entered  int64
	cooldown int64
	openings int
	forgot   int // how many of calls do not count any more
	calls    []modelCall
	probes   []modelProbe
	told     []modelChange
	stayed   map[events.State]int64
}

type modelCall struct {
	at     int64
	failed bool
}

type modelProbe struct {
	id    int
	began int64
	ended bool
	ok    bool
}

type modelChange struct {
	from, to events.State
	reason   events.Reason
}

func newModel(rules breakerRules, width, now int64) *model {
	return &model{rules: rules, width: width, now: now, entered: now, state: events.StateClosed, stayed: map[events.State]int64{}}
}

// grown is the cooldown of the n-th opening in a row.
func (m *model) grown(n int) int64 { return int64(m.rules.cooldown) * int64(n) }

func (m *model) pass(d int64) {
	for range 2 { // at most one border, the end of the cooldown, lies within
		part := d
		if left := m.entered + m.cooldown - m.now; m.state == events.StateOpen && left > 0 {
			part = min(d, left)
		}
		m.stayed[m.seen()] += part
		m.now += part
		d -= part
	}
}

func (m *model) seen() events.State {
	if m.state == events.StateOpen && m.now >= m.entered+m.cooldown {
		return events.StateHalfOpen
	}
	return m.state
}

func (m *model) enter(to events.State, reason events.Reason) {
	m.told = append(m.told, modelChange{m.state, to, reason})
	m.state, m.entered, m.probes = to, m.now, nil
	switch to {
	case events.StateOpen:
		m.openings++
		m.cooldown = m.grown(m.openings)
	case events.StateClosed:
		m.openings, m.forgot = 0, len(m.calls)
	}
}

func (m *model) hung() bool {
	return m.rules.maxProbeTime >= 0 && slices.ContainsFunc(m.probes, func(p modelProbe) bool {
		return !p.ended && m.now-p.began >= int64(m.rules.maxProbeTime)
	})
}

func (m *model) admit(id int) bool {
	switch m.seen() {
	case events.StateClosed:
		return true
	case events.StateHalfOpen:
		if m.state == events.StateOpen {
			m.enter(events.StateHalfOpen, events.ReasonCooldown)
		}
		if m.hung() {
			m.enter(events.StateOpen, events.ReasonProbeFailed)
			return false
		}
		running := 0
		for _, p := range m.probes {
			if !p.ended {
				running++
			}
		}
		if running < m.rules.probes {
			m.probes = append(m.probes, modelProbe{id: id, began: m.now})
			return true
		}
	}
	return false
}

// settle ends a call that was admitted when there had been changes transitions.
func (m *model) settle(id, changes int, e ending) (late bool) {
	if changes != len(m.told) {
		return true
	}
	if m.state == events.StateHalfOpen {
		return m.settleProbe(id, e)
	}
	if e != endedIgnored {
		m.calls = append(m.calls, modelCall{m.now, e == endedBadly})
		m.trip()
	}
	return false
}

func (m *model) settleProbe(id int, e ending) (late bool) {
	if e != endedBadly && m.hung() {
		m.enter(events.StateOpen, events.ReasonProbeFailed)
		return true
	}
	passed := 0
	for i := range m.probes {
		if p := &m.probes[i]; p.id == id {
			p.ended, p.ok = true, e == endedWell
		}
		if m.probes[i].ok {
			passed++
		}
	}
	if e == endedBadly {
		m.enter(events.StateOpen, events.ReasonProbeFailed)
	} else if e == endedWell && passed >= m.rules.passes {
		m.enter(events.StateClosed, events.ReasonProbesOK)
	}
	return false
}

func (m *model) trip() {
	counted := m.calls[m.forgot:]
	streak := 0
	for _, c := range slices.Backward(counted) {
		if !c.failed {
			break
		}
		streak++
	}
	if n := int(m.rules.consecutive); n > 0 && streak >= n {
		m.enter(events.StateOpen, events.ReasonConsecutive)
		return
	}
	calls, failures := m.windowed()
	if m.rules.ratio > 0 && calls >= m.rules.minCalls && failures > 0 && float64(failures)/float64(calls) >= m.rules.ratio {
		m.enter(events.StateOpen, events.ReasonRatio)
	}
}

// windowed counts the calls of the last windowCells cells.
func (m *model) windowed() (calls, failures int64) {
	for _, c := range m.calls[m.forgot:] {
		if floorDiv(c.at, m.width) <= floorDiv(m.now, m.width)-windowCells {
			continue
		}
		calls++
		if c.failed {
			failures++
		}
	}
	return calls, failures
}

func (m *model) reset() {
	if m.forgot = len(m.calls); m.state != events.StateClosed {
		m.enter(events.StateClosed, events.ReasonManual)
	}
}

func (m *model) force() {
	if m.state != events.StateForcedOpen {
		m.enter(events.StateForcedOpen, events.ReasonManual)
	}
}

// span is a duration that a byte stands for.
func span(b byte) int64 { return int64(time.Millisecond) << (b % 17) }
