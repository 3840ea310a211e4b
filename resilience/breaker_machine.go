package resilience

import (
	"time"

	"github.com/telltale-go/telltale/events"
)

// breakerRules are a breaker's settings as its machine uses them. They are immutable.
type breakerRules struct {
	consecutive  int64   // failures in a row that open it; 0: not used
	ratio        float64 // of failures in the window; 0: not used
	minCalls     int64
	cooldown     time.Duration // of the first opening after a close
	probes       int
	passes       int           // successful probes that close it
	maxProbeTime time.Duration // negative: no limit
}

// machine is a circuit breaker's state machine: no lock, no clock, no events. Every method that may change the state returns
// the transitions it made, in order.
type machine struct {
	rules    *breakerRules
	state    events.State
	gen      uint32  // grows with each transition: what was admitted before is stale
	seq      uint64  // of the last transition
	since    int64   // when the state was entered
	until    int64   // the end of the cooldown; meaningful while open
	streak   int64   // failures in a row
	openings int     // since the last close
	passed   int     // probes that succeeded
	failed   int     // probes that failed
	probing  []int64 // when the probes under way began
	window   window
	lastErr  error
	spent    [5]int64      // time in each state up to since
	cooldown time.Duration // of the last opening
	next     time.Duration // of the next; its owner sets it when cooldowns grow
}

// transition is one change of state, with what was counted when the decision fell.
type transition struct {
	from, to        events.State
	reason          events.Reason
	seq             uint64
	calls, failures int64
	limit           float64
	cooldown        time.Duration
	err             error
}

// ratioOf is failures by calls, 0 of none.
func ratioOf(failures, calls int64) float64 {
	if calls == 0 {
		return 0
	}
	return float64(failures) / float64(calls)
}

func newMachine(rules *breakerRules, window window, now int64) machine {
	return machine{rules: rules, state: events.StateClosed, gen: 1, since: now, window: window, next: rules.cooldown}
}

// seen returns the state as it shows at now: an open breaker whose cooldown has passed is half-open, although the transition
// is made by the next admission.
func (m *machine) seen(now int64) events.State {
	if m.state == events.StateOpen && now-m.until >= 0 {
		return events.StateHalfOpen
	}
	return m.state
}

// admit asks for a call. ok false: it is refused. The generation goes back to settle.
func (m *machine) admit(now int64) (gen uint32, ok bool, made []transition) {
	switch m.seen(now) {
	case events.StateClosed:
		return m.gen, true, nil
	case events.StateHalfOpen:
		if m.state == events.StateOpen {
			made = append(made, m.enter(events.StateHalfOpen, events.ReasonCooldown, now))
		}
		if len(m.probing) >= m.rules.probes {
			if !m.probeHangs(now) {
				return 0, false, made
			}
			m.failed++
			return 0, false, append(made, m.open(events.ReasonProbeFailed, now))
		}
		m.probing = append(m.probing, now)
		return m.gen, true, made
	}
	return 0, false, nil
}

// probeHangs tells whether a probe has exceeded its time: it is given up, and counts as a failure.
func (m *machine) probeHangs(now int64) bool {
	if m.rules.maxProbeTime < 0 {
		return false
	}
	for _, started := range m.probing {
		if now-started >= int64(m.rules.maxProbeTime) {
			return true
		}
	}
	return false
}

// ending is how a call ended, for the machine.
type ending uint8

const (
	endedWell ending = iota
	endedBadly
	endedIgnored // neither
)

// settle counts a call that was admitted in generation gen, at started. late: the state has changed since, nothing counts.
func (m *machine) settle(gen uint32, started int64, e ending, err error, now int64) (made []transition, late bool) {
	if gen != m.gen {
		return nil, true
	}
	if m.state == events.StateHalfOpen {
		return m.settleProbe(started, e, err, now), false
	}
	switch e {
	case endedWell:
		m.streak = 0
	case endedBadly:
		m.streak++
		m.lastErr = err
	default:
		return nil, false
	}
	if m.rules.ratio > 0 {
		m.window.add(now, e == endedBadly)
	}
	return m.trip(now), false
}

func (m *machine) settleProbe(started int64, e ending, err error, now int64) []transition {
	for i, s := range m.probing {
		if s == started {
			m.probing = append(m.probing[:i], m.probing[i+1:]...)
			break
		}
	}
	switch e {
	case endedBadly:
		m.lastErr = err
		m.failed++
		return []transition{m.open(events.ReasonProbeFailed, now)}
	case endedWell:
		if m.passed++; m.passed >= m.rules.passes {
			return []transition{m.enter(events.StateClosed, events.ReasonProbesOK, now)}
		}
	}
	return nil
}

// trip opens a closed breaker that has seen enough.
func (m *machine) trip(now int64) []transition {
	if m.rules.consecutive > 0 && m.streak >= m.rules.consecutive {
		return []transition{m.open(events.ReasonConsecutive, now)}
	}
	total := m.window.total
	if m.rules.ratio > 0 && int64(total.calls) >= m.rules.minCalls && total.failures > 0 &&
		float64(total.failures) >= m.rules.ratio*float64(total.calls) {
		return []transition{m.open(events.ReasonRatio, now)}
	}
	return nil
}

func (m *machine) open(reason events.Reason, now int64) transition {
	m.openings++
	m.cooldown = m.next
	return m.enter(events.StateOpen, reason, now)
}

// force opens the breaker until it is reset; false if it is open so already.
func (m *machine) force(now int64) (transition, bool) {
	if m.state == events.StateForcedOpen {
		return transition{}, false
	}
	m.lastErr = nil
	return m.enter(events.StateForcedOpen, events.ReasonManual, now), true
}

// reset closes the breaker and forgets everything; false if there was no change of state.
func (m *machine) reset(now int64) (transition, bool) {
	if m.state == events.StateClosed {
		m.forget()
		return transition{}, false
	}
	return m.enter(events.StateClosed, events.ReasonManual, now), true
}

// enter is where the state changes.
func (m *machine) enter(to events.State, reason events.Reason, now int64) transition {
	calls, failures, limit := m.counted(now)
	m.account(now)
	m.seq++
	m.gen++
	t := transition{from: m.state, to: to, reason: reason, seq: m.seq, calls: calls, failures: failures, limit: limit, err: m.lastErr}
	m.state, m.since = to, now
	m.passed, m.failed, m.probing = 0, 0, nil
	switch to {
	case events.StateOpen:
		m.until = now + min(int64(m.cooldown), maxCooldown)
		t.cooldown = m.cooldown
	case events.StateClosed:
		m.openings, m.next = 0, m.rules.cooldown
		m.forget()
	}
	return t
}

// maxCooldown keeps the end of a cooldown within the clock's range: a hundred years.
const maxCooldown = 100 * 365 * 24 * int64(time.Hour)

func (m *machine) forget() {
	m.streak, m.lastErr = 0, nil
	m.window.clear()
}

// account adds the time since the last transition to the states it was spent in.
func (m *machine) account(now int64) { m.spent = m.spentAt(now) }

// spentAt returns the time spent in each state up to now. A clock that went back adds nothing.
func (m *machine) spentAt(now int64) [5]int64 {
	spent := m.spent
	elapsed := max(now-m.since, 0)
	if over := now - m.until; m.state == events.StateOpen && over > 0 { // the cooldown has passed unnoticed
		over = min(over, elapsed)
		spent[events.StateHalfOpen] += over
		elapsed -= over
	}
	spent[m.state] += elapsed
	return spent
}

// counted returns what decides at present, and the limit it is measured against.
func (m *machine) counted(now int64) (calls, failures int64, limit float64) {
	if m.state == events.StateHalfOpen {
		return int64(m.passed + m.failed), int64(m.failed), float64(m.rules.passes)
	}
	if m.rules.ratio > 0 {
		t := m.window.at(now)
		return int64(t.calls), int64(t.failures), m.rules.ratio
	}
	return m.streak, m.streak, float64(m.rules.consecutive)
}
