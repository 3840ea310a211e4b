package resilience

import (
	"slices"
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

// machine is a circuit breaker's state machine: no lock, no clock, no events. Every method that may change the state
// returns the transition it made, nil if it made none. Readings of the clock that it is given never go back, unless the
// clock is another one (another synctest bubble); it may forget then, and is never stuck.
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
	spent    [6]int64      // time in each state up to since
	cooldown time.Duration // of the last opening, at most maxCooldown
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

// seen returns the state as it shows at now: an open breaker whose cooldown has passed is half-open, although the
// transition is made by the next admission.
func (m *machine) seen(now int64) events.State {
	if m.state == events.StateOpen && cooling(m.until, m.cooldown, now) == 0 {
		return events.StateHalfOpen
	}
	return m.state
}

// cooling returns what is left at now of a cooldown that ends at until; 0 if it has passed. If more is left than the
// whole, the clock is another one, and it has passed, too.
func cooling(until int64, cooldown time.Duration, now int64) time.Duration {
	left := time.Duration(until - now)
	if left < 0 || left > cooldown {
		return 0
	}
	return left
}

// admit asks for a call. ok false: it is refused. The generation goes back to settle.
func (m *machine) admit(now int64) (gen uint32, ok bool, made *transition) {
	switch m.seen(now) {
	case events.StateClosed:
		return m.gen, true, nil
	case events.StateHalfOpen:
		if m.state == events.StateOpen {
			made = m.enter(events.StateHalfOpen, events.ReasonCooldown, now)
		} else if m.probeHangs(now) {
			return 0, false, m.failProbe(now)
		}
		if len(m.probing) >= m.rules.probes {
			return 0, false, nil
		}
		m.probing = append(m.probing, now)
		return m.gen, true, made
	}
	return 0, false, nil
}

// probeHangs tells whether a probe has exceeded its time: it is given up, and counts as a failure. A probe of another
// clock is given up, too.
func (m *machine) probeHangs(now int64) bool {
	if m.rules.maxProbeTime < 0 {
		return false
	}
	for _, started := range m.probing {
		if took := now - started; took >= int64(m.rules.maxProbeTime) || took < 0 {
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

// settle counts a call that was admitted in generation gen, at started. late: the state has changed since, or the call
// was a probe that was given up; it does not count.
func (m *machine) settle(gen uint32, started int64, e ending, err error, now int64) (made *transition, late bool) {
	if gen != m.gen {
		return nil, true
	}
	if m.state == events.StateHalfOpen {
		return m.settleProbe(started, e, err, now)
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

func (m *machine) settleProbe(started int64, e ending, err error, now int64) (made *transition, late bool) {
	if e != endedBadly && m.probeHangs(now) { // this one, or another
		return m.failProbe(now), true
	}
	if i := slices.Index(m.probing, started); i >= 0 {
		m.probing = slices.Delete(m.probing, i, i+1)
	}
	switch e {
	case endedBadly:
		m.lastErr = err
		return m.failProbe(now), false
	case endedWell:
		if m.passed++; m.passed >= m.rules.passes {
			return m.enter(events.StateClosed, events.ReasonProbesOK, now), false
		}
	}
	return nil, false
}

// failProbe opens a half-open breaker again.
func (m *machine) failProbe(now int64) *transition {
	m.failed++
	return m.open(events.ReasonProbeFailed, now)
}

// trip opens a closed breaker that has seen enough.
func (m *machine) trip(now int64) *transition {
	if m.rules.consecutive > 0 && m.streak >= m.rules.consecutive {
		return m.open(events.ReasonConsecutive, now)
	}
	total := m.window.total
	if m.rules.ratio > 0 && total.calls >= m.rules.minCalls && total.failures > 0 && ratioOf(total.failures, total.calls) >= m.rules.ratio {
		return m.open(events.ReasonRatio, now)
	}
	return nil
}

func (m *machine) open(reason events.Reason, now int64) *transition {
	m.openings++
	m.cooldown = min(m.next, maxCooldown)
	return m.enter(events.StateOpen, reason, now)
}

// maxCooldown keeps the end of a cooldown within the range of wall clocks: a hundred years.
const maxCooldown = 100 * 365 * 24 * time.Hour

// force opens the breaker until it is reset.
func (m *machine) force(now int64) *transition {
	if m.state == events.StateForcedOpen {
		return nil
	}
	m.lastErr = nil
	return m.enter(events.StateForcedOpen, events.ReasonManual, now)
}

// reset closes the breaker and forgets everything.
func (m *machine) reset(now int64) *transition {
	if m.state == events.StateClosed {
		m.forget()
		return nil
	}
	return m.enter(events.StateClosed, events.ReasonManual, now)
}

// enter is where the state changes.
func (m *machine) enter(to events.State, reason events.Reason, now int64) *transition {
	t := &transition{from: m.state, to: to, reason: reason, seq: m.seq + 1, err: m.lastErr}
	t.calls, t.failures, t.limit = m.counted(now)
	if reason == events.ReasonConsecutive {
		t.calls, t.failures, t.limit = m.inARow()
	}
	m.spent = m.spentAt(now)
	m.state, m.since = to, now
	m.seq++
	m.gen++
	m.passed, m.failed, m.probing = 0, 0, nil
	switch to {
	case events.StateOpen:
		m.until = now + int64(m.cooldown)
		t.cooldown = m.cooldown
	case events.StateClosed:
		t.err = nil // what failed before it closed is over
		m.openings, m.next = 0, m.rules.cooldown
		m.forget()
	}
	return t
}

func (m *machine) forget() {
	m.streak, m.lastErr = 0, nil
	m.window.clear()
}

// spentAt returns the time spent in each state up to now. A clock that went back adds nothing.
func (m *machine) spentAt(now int64) [6]int64 {
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
	if m.rules.ratio == 0 {
		calls, failures, limit = m.inARow()
	} else {
		t := m.window.at(now)
		calls, failures, limit = t.calls, t.failures, m.rules.ratio
	}
	if m.state == events.StateHalfOpen {
		calls, failures = int64(m.passed+m.failed), int64(m.failed)
	}
	return calls, failures, limit
}

func (m *machine) inARow() (calls, failures int64, limit float64) {
	return m.streak, m.streak, float64(m.rules.consecutive)
}
