package resilience

import (
	"slices"
	"time"

	"github.com/telltale-go/telltale/events"
)

// model is a circuit breaker written as plainly as can be: lists of all that happened, and no care for cost. The
// machine must behave as it does.
type model struct {
	rules    *breakerRules
	now      int64
	state    events.State
	entered  int64
	cooldown int64
	openings int
	streak   int
	under    []modelCall // admitted, in whatever state
	ended    []modelEnd  // counted since the last close
	passed   int
	failed   int
	slow     int
	told     []modelChange
	stayed   map[events.State]int64
}

type modelCall struct {
	id, changes int // how many transitions there had been at its admission
	began       int64
}

type modelEnd struct {
	at           int64
	failed, slow bool
}

type modelChange struct {
	from, to events.State
	reason   events.Reason
}

func newModel(rules *breakerRules, now int64) *model {
	return &model{rules: rules, now: now, entered: now, state: events.StateClosed, stayed: map[events.State]int64{}}
}

// grown is the cooldown of the n-th opening in a row.
func (m *model) grown(n int) int64 { return int64(m.rules.cooldown) * int64(n) }

func (m *model) pass(d int64) {
	for range 2 { // at most one border, the end of the cooldown, lies within
		part := d
		if left := m.entered + m.cooldown - m.now; m.state == events.StateOpen && left > 0 {
			part = min(d, left)
		}
		if m.state == events.StateOpen && m.now >= m.entered+m.cooldown {
			m.stayed[events.StateHalfOpen] += part
		} else {
			m.stayed[m.state] += part
		}
		m.now += part
		d -= part
	}
}

func (m *model) seen() events.State {
	if m.state == events.StateOpen && m.now >= m.entered+m.cooldown {
		return events.StateHalfOpen
	}
	if m.state == events.StateClosed && m.hung() > 0 && m.why() != 0 {
		return events.StateOpen
	}
	return m.state
}

func (m *model) enter(to events.State, reason events.Reason) {
	m.told = append(m.told, modelChange{m.state, to, reason})
	m.state, m.entered = to, m.now
	m.passed, m.failed, m.slow = 0, 0, 0
	switch to {
	case events.StateOpen:
		m.openings++
		m.cooldown = m.grown(m.openings)
	case events.StateClosed, events.StateDisabled:
		m.openings = 0
		m.forget()
	}
}

func (m *model) forget() { m.ended, m.streak = nil, 0 }

// current lists the calls under way that were admitted in the present state.
func (m *model) current() (all []modelCall) {
	for _, c := range m.under {
		if c.changes == len(m.told) {
			all = append(all, c)
		}
	}
	return all
}

// hung counts the calls under way in a closed breaker that have been seen to be slow: five quarters of the limit may have
// passed since the quarter in which they began.
func (m *model) hung() (n int64) {
	if m.rules.slow == nil || m.state != events.StateClosed {
		return 0
	}
	quarter := (int64(m.rules.slow.limit) + 3) / 4
	for _, c := range m.current() {
		if (m.now-m.entered)/quarter-(c.began-m.entered)/quarter >= 5 {
			n++
		}
	}
	return n
}

// probeHung tells whether a probe has exceeded its time, and whether the first such is slow.
func (m *model) probeHung() (hung, slow bool) {
	for _, c := range m.current() {
		took := m.now - c.began
		if m.rules.slow != nil && took > int64(m.rules.slow.limit) {
			return true, true
		}
		if m.rules.maxProbeTime >= 0 && took >= int64(m.rules.maxProbeTime) {
			return true, false
		}
	}
	return false, false
}

func (m *model) failProbe(slow bool) {
	if m.failed++; slow {
		m.slow++
	}
	m.enter(events.StateOpen, events.ReasonProbeFailed)
}

func (m *model) admit(id int) bool {
	switch m.state {
	case events.StateForcedOpen:
		return false
	case events.StateOpen:
		if m.now < m.entered+m.cooldown {
			return false
		}
		m.enter(events.StateHalfOpen, events.ReasonCooldown)
	case events.StateClosed:
		if why := m.why(); m.hung() > 0 && why != 0 {
			m.enter(events.StateOpen, why)
			return false
		}
	}
	if m.state == events.StateHalfOpen {
		if hung, slow := m.probeHung(); hung {
			m.failProbe(slow)
			return false
		}
		if len(m.current()) == int(m.rules.probes) {
			return false
		}
	}
	m.under = append(m.under, modelCall{id, len(m.told), m.now})
	return true
}

// settle ends the i-th call under way.
func (m *model) settle(i int, e ending) (late bool) {
	c := m.under[i]
	if c.changes != len(m.told) {
		m.under = slices.Delete(m.under, i, i+1)
		return true
	}
	failed := e == endedBadly || e == endedByDeadline && m.rules.countDeadlines
	slow := m.rules.slow != nil && e != endedIgnored && (e == endedByDeadline || m.now-c.began > int64(m.rules.slow.limit))
	if m.state == events.StateHalfOpen && !failed && !slow {
		if hung, slow := m.probeHung(); hung {
			m.under = slices.Delete(m.under, i, i+1)
			m.failProbe(slow)
			return true
		}
	}
	m.under = slices.Delete(m.under, i, i+1)
	switch {
	case m.state == events.StateHalfOpen && (failed || slow):
		m.failProbe(slow)
	case m.state == events.StateHalfOpen && e == endedWell:
		if m.passed++; m.passed == int(m.rules.passes) {
			m.enter(events.StateClosed, events.ReasonProbesOK)
		}
	case m.state == events.StateClosed && (failed || slow || e == endedWell):
		m.ended = append(m.ended, modelEnd{m.now, failed, slow})
		if failed {
			m.streak++
		} else if e == endedWell {
			m.streak = 0
		}
		if why := m.why(); why != 0 {
			m.enter(events.StateOpen, why)
		}
	}
	return false
}

// why is what opens the breaker as it is, 0 if nothing does.
func (m *model) why() events.Reason {
	t := m.counted()
	share := func(part int64) float64 { return float64(part) / float64(t.calls) }
	switch {
	case m.rules.consecutive > 0 && m.streak >= int(m.rules.consecutive):
		return events.ReasonConsecutive
	case m.rules.ratio == 0 && m.rules.slow == nil || t.calls < int64(m.rules.minCalls):
		return 0
	case m.rules.ratio > 0 && t.failures > 0 && share(t.failures) >= m.rules.ratio:
		return events.ReasonRatio
	case m.rules.slow != nil && t.slow > 0 && share(t.slow) >= m.rules.slow.ratio:
		return events.ReasonSlow
	}
	return 0
}

// counted counts the last calls, or those of the last windowCells cells, and the hung ones.
func (m *model) counted() (t tally) {
	if m.rules.ratio == 0 && m.rules.slow == nil {
		return t
	}
	t = tally{calls: m.hung(), slow: m.hung()}
	for i, c := range m.ended {
		if n := int(m.rules.windowCalls); n > 0 && i < len(m.ended)-n {
			continue
		}
		if m.rules.windowCalls == 0 && floorDiv(c.at, m.rules.cellWidth()) <= floorDiv(m.now, m.rules.cellWidth())-windowCells {
			continue
		}
		t.calls++
		if c.failed {
			t.failures++
		}
		if c.slow {
			t.slow++
		}
	}
	return t
}

func (m *model) command(reset, force, disable, enable bool) {
	switch {
	case reset && m.state == events.StateClosed:
		m.forget()
	case reset, enable && m.state == events.StateDisabled:
		m.enter(events.StateClosed, events.ReasonManual)
	case force && m.state != events.StateForcedOpen:
		m.enter(events.StateForcedOpen, events.ReasonManual)
	case disable && m.state != events.StateDisabled:
		m.enter(events.StateDisabled, events.ReasonManual)
	}
}

// span is a duration that a byte stands for.
func span(b byte) int64 { return int64(time.Millisecond) << (b % 17) }
