package resilience

import "github.com/telltale-go/telltale/events"

// add counts a call that has ended, and tells whether older ones may have been forgotten for it.
func (m *machine) add(now int64, t tally) (forgot bool) {
	switch {
	case m.ring != nil:
		m.ring.add(t)
	case m.window != nil:
		forgot = m.window.roll(now, m.rules.cellWidth())
		m.window.put(t)
	}
	return forgot
}

// quick tells what a success that ends soon, within the window's newest cell, changes: nothing (idle), nothing but the
// number of calls (counts), or that it may change more.
func (m *machine) quick() (idle, counts bool) {
	switch {
	case m.state == events.StateDisabled:
		return true, false
	case m.state != events.StateClosed, m.underWay != nil, m.rules.consecutive > 0 && m.streak > 0:
		return false, false
	case m.ring == nil && m.window == nil:
		return true, false
	}
	t := m.total()
	return false, t.failures == 0 || t.calls >= int64(m.rules.minCalls) // else it may make them enough
}

// tookOff admits a call to a closed breaker, if nothing under way has become slow: else admit has to be asked.
func (m *machine) tookOff(now int64) bool {
	f := m.underWay
	if m.state != events.StateClosed || f.hung > 0 || uint64(now-f.start) >= uint64(m.rules.slotWidth()) {
		return false
	}
	f.young[0]++
	return true
}

// landed settles a success that is younger than the newest slot, and so quick, if it is a number alone; else settle has to
// be asked.
func (m *machine) landed(gen uint32, began, now int64) bool {
	f := m.underWay
	if gen != m.gen || m.state != events.StateClosed || !m.calm || m.rules.consecutive > 0 && m.streak > 0 ||
		began < f.start || uint64(now-f.start) >= uint64(m.rules.slotWidth()) || f.young[0] == 0 { // it took off by another clock
		return false
	}
	if m.ring != nil {
		m.ring.add(tally{calls: 1})
	} else if width := m.rules.cellWidth(); uint64(now-m.window.start(width)) < uint64(width) {
		m.window.put(tally{calls: 1})
	} else {
		return false
	}
	f.young[0]--
	return true
}

// succeeded counts n successes that quick says are numbers alone.
func (m *machine) succeeded(n int64) {
	if m.ring != nil {
		m.ring.succeeded(n)
		return
	}
	m.window.put(tally{calls: n})
}

// trip opens a closed breaker that has seen enough.
func (m *machine) trip(now int64) *transition {
	if m.window != nil {
		m.window.roll(now, m.rules.cellWidth())
	}
	t := m.total()
	if reason := m.tripping(t); reason != 0 {
		return m.open(reason, now)
	}
	m.calm = t.calls >= int64(m.rules.minCalls)
	return nil
}

// tripping returns what opens a closed breaker that counts t, 0 if nothing does.
func (m *machine) tripping(t tally) events.Reason {
	r := m.rules
	if r.consecutive > 0 && m.streak >= r.consecutive {
		return events.ReasonConsecutive
	}
	if t.calls < max(int64(r.minCalls), 1) {
		return 0
	}
	if r.ratio > 0 && t.failures > 0 && ratioOf(t.failures, t.calls) >= r.ratio {
		return events.ReasonRatio
	}
	if r.slow != nil && t.slow > 0 && ratioOf(t.slow, t.calls) >= r.slow.ratio {
		return events.ReasonSlow
	}
	return 0
}

// hangs tells whether calls under way that have become slow since the last call would open a closed breaker at now.
func (m *machine) hangs(now int64) bool {
	if m.underWay == nil || m.state != events.StateClosed {
		return false
	}
	hung, _ := m.underWay.at(now, m.rules.slotWidth())
	return hung > 0 && m.tripping(m.totalAt(now)) != 0
}

// ratioOf is the share of calls, 0 of none.
func ratioOf(part, calls int64) float64 {
	if calls == 0 {
		return 0
	}
	return float64(part) / float64(calls)
}

// total returns what is in the window, and the calls under way that are slow, as of the last roll.
func (m *machine) total() (t tally) {
	switch {
	case m.ring != nil:
		t = m.ring.counts
	case m.window != nil:
		t = m.window.total()
	}
	if m.underWay != nil {
		t.calls += int64(m.underWay.hung)
		t.slow += int64(m.underWay.hung)
	}
	return t
}

// totalAt returns what total would be at now, without changing anything.
func (m *machine) totalAt(now int64) (t tally) {
	switch {
	case m.ring != nil:
		t = m.ring.counts
	case m.window != nil:
		t = m.window.at(now, m.rules.cellWidth())
	}
	if m.underWay != nil {
		hung, _ := m.underWay.at(now, m.rules.slotWidth())
		t.calls += hung
		t.slow += hung
	}
	return t
}

// counted returns what decides at present, and the limit that failures are measured against.
func (m *machine) counted(now int64) (t tally, limit float64) {
	t, limit = m.inARow()
	if m.ring != nil || m.window != nil {
		t, limit = m.totalAt(now), m.rules.ratio
	}
	if m.trial != nil {
		t = tally{int64(m.trial.passed + m.trial.failed), int64(m.trial.failed), int64(m.trial.slow)}
	}
	return t, limit
}

func (m *machine) inARow() (t tally, limit float64) {
	return tally{calls: int64(m.streak), failures: int64(m.streak)}, float64(m.rules.consecutive)
}

func (m *machine) forget() {
	m.streak, m.lastErr, m.calm = 0, nil, false
	switch {
	case m.ring != nil:
		m.ring.clear()
	case m.window != nil:
		m.window.clear()
	}
}
