package resilience

import (
	"math"
	"slices"
	"time"

	"github.com/telltale-go/telltale/events"
)

// machine is a circuit breaker's state machine: no lock, no clock, no events. Every method that may change the state
// returns the transition it made, nil if it made none. Readings of the clock that it is given never go back, unless the
// clock is another one (another synctest bubble); it may forget then, and is never stuck.
type machine struct {
	rules    *breakerRules
	state    events.State
	calm     bool   // enough calls are counted, and one more quick success cannot open it
	gen      uint32 // grows with each transition: what was admitted before is stale
	streak   int32  // failures in a row
	openings int32  // since the last close
	seq      uint64 // of the last transition
	since    int64  // when the state was entered
	until    int64  // the end of the cooldown; meaningful while open
	next     time.Duration
	lastErr  error
	trial    *trial    // while half-open
	spent    *[6]int64 // time in each state up to since; nil: it has never changed
	window   *window   // nil: nothing is counted by time
	ring     *ring     // nil: nothing is counted by calls
	underWay *underWay // the calls under way while closed; nil: slow ones are not counted
}

// trial is what a half-open breaker knows of its probes.
type trial struct {
	under                []int64 // when those under way began
	passed, failed, slow int32
}

// transition is one change of state, with what was counted when the decision fell.
type transition struct {
	from, to events.State
	reason   events.Reason
	seq      uint64
	counts   tally
	limit    float64
	cooldown time.Duration
	err      error
}

// newMachine returns a closed one. Where cooldowns grow, its owner sets next.
func newMachine(rules *breakerRules, now int64) machine {
	m := machine{rules: rules, state: events.StateClosed, gen: 1, since: now, next: rules.cooldown}
	switch {
	case rules.windowCalls > 0:
		m.ring = newRing(rules.windowCalls, rules.slow != nil)
	case rules.window > 0:
		m.window = newWindow(now, rules.cellWidth(), rules.slow != nil)
	}
	if rules.slow != nil {
		m.underWay = &underWay{start: now}
	}
	return m
}

// seen returns the state as it shows at now: an open breaker whose cooldown has passed is half-open, and a closed one
// whose calls under way are slow enough is open, although the transition is made by the next admission.
func (m *machine) seen(now int64) events.State {
	switch {
	case m.state == events.StateOpen && m.cooling(now) == 0:
		return events.StateHalfOpen
	case m.hangs(now):
		return events.StateOpen
	}
	return m.state
}

// cooling returns what is left of the cooldown of an open breaker.
func (m *machine) cooling(now int64) time.Duration {
	return cooling(m.until, time.Duration(m.until-m.since), now)
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
	switch m.state {
	case events.StateClosed:
		if m.underWay == nil {
			return m.gen, true, nil
		}
		if m.underWay.roll(now, m.rules.slotWidth()) {
			m.calm = false
		}
		if m.underWay.hung > 0 {
			if made := m.trip(now); made != nil {
				return 0, false, made
			}
		}
		m.underWay.enter(now, m.rules.slotWidth())
		return m.gen, true, nil
	case events.StateDisabled:
		return m.gen, true, nil
	case events.StateForcedOpen:
		return 0, false, nil
	case events.StateOpen:
		if m.cooling(now) > 0 {
			return 0, false, nil
		}
		made = m.enter(events.StateHalfOpen, events.ReasonCooldown, now)
	case events.StateHalfOpen:
		if hangs, slow := m.probeHangs(now); hangs {
			return 0, false, m.failProbe(slow, now)
		}
	}
	if len(m.trial.under) >= int(m.rules.probes) {
		return 0, false, nil
	}
	m.trial.under = append(m.trial.under, now)
	return m.gen, true, made
}

// probeHangs tells whether a probe has exceeded its time, or is slow: it is given up, and counts as a failure. A probe of
// another clock is given up, too.
func (m *machine) probeHangs(now int64) (hangs, slow bool) {
	for _, began := range m.trial.under {
		took := time.Duration(now - began)
		slow = m.rules.slow != nil && (took > m.rules.slow.limit || took < 0)
		if slow || m.rules.maxProbeTime >= 0 && (took >= m.rules.maxProbeTime || took < 0) {
			return true, slow
		}
	}
	return false, false
}

// ending is how a call ended, for the machine.
type ending uint8

const (
	endedWell ending = iota
	endedBadly
	endedIgnored    // neither
	endedCanceled   // by the caller: only its duration counts
	endedByDeadline // the caller's
)

// settle counts a call that was admitted in generation gen, at began. late: the state has changed since, or the call was a
// probe that was given up; it does not count.
func (m *machine) settle(gen uint32, began int64, e ending, err error, now int64) (made *transition, late bool) {
	if gen != m.gen {
		return nil, true
	}
	bad := e == endedBadly || e == endedByDeadline && m.rules.countDeadlines
	slow := m.isSlow(e, time.Duration(now-began))
	switch m.state {
	case events.StateDisabled:
		return nil, false
	case events.StateHalfOpen:
		return m.settleProbe(began, e, bad, slow, err, now)
	}
	if m.underWay != nil && m.underWay.leave(began, now, m.rules.slotWidth()) {
		m.calm = false
	}
	switch {
	case bad:
		m.streak = min(m.streak, math.MaxInt32-1) + 1
		m.lastErr = err
	case e == endedWell:
		m.streak = 0
	case !slow:
		return nil, false
	}
	if forgot := m.add(now, tallyOf(bad, slow)); m.calm && !forgot && !bad && !slow {
		return nil, false
	}
	return m.trip(now), false
}

func (m *machine) isSlow(e ending, took time.Duration) bool {
	if m.rules.slow == nil || e == endedIgnored {
		return false
	}
	return e == endedByDeadline || took > m.rules.slow.limit
}

func (m *machine) settleProbe(began int64, e ending, bad, slow bool, err error, now int64) (made *transition, late bool) {
	if !bad && !slow {
		if hangs, slow := m.probeHangs(now); hangs { // this one, or another
			return m.failProbe(slow, now), true
		}
	}
	if i := slices.Index(m.trial.under, began); i >= 0 {
		m.trial.under = slices.Delete(m.trial.under, i, i+1)
	}
	if bad {
		m.lastErr = err
	}
	switch {
	case bad || slow:
		return m.failProbe(slow, now), false
	case e == endedWell:
		if m.trial.passed++; m.trial.passed >= m.rules.passes {
			return m.enter(events.StateClosed, events.ReasonProbesOK, now), false
		}
	}
	return nil, false
}

// failProbe opens a half-open breaker again.
func (m *machine) failProbe(slow bool, now int64) *transition {
	m.trial.failed++
	if slow {
		m.trial.slow++
	}
	return m.open(events.ReasonProbeFailed, now)
}

func (m *machine) open(reason events.Reason, now int64) *transition {
	m.openings = min(m.openings, math.MaxInt32-1) + 1
	return m.enter(events.StateOpen, reason, now)
}

// maxCooldown keeps the end of a cooldown within the range of wall clocks: a hundred years.
const maxCooldown = 100 * 365 * 24 * time.Hour

// enter is where the state changes.
func (m *machine) enter(to events.State, reason events.Reason, now int64) *transition {
	t := &transition{from: m.state, to: to, reason: reason, seq: m.seq + 1, err: m.lastErr}
	t.counts, t.limit = m.counted(now)
	if reason == events.ReasonConsecutive {
		t.counts, t.limit = m.inARow()
	}
	spent := m.spentAt(now)
	m.spent = &spent
	m.state, m.since = to, now
	m.seq++
	m.gen++
	m.trial = nil
	if m.underWay != nil {
		*m.underWay = underWay{start: now} // who is under way is of another generation
	}
	switch to {
	case events.StateOpen:
		t.cooldown = min(m.next, maxCooldown)
		m.until = now + int64(t.cooldown)
	case events.StateHalfOpen:
		m.trial = new(trial)
	case events.StateClosed, events.StateDisabled:
		t.err = nil // what failed before is over
		m.openings, m.next = 0, m.rules.cooldown
		m.forget()
	case events.StateForcedOpen:
	}
	return t
}

// spentAt returns the time spent in each state up to now. A clock that went back adds nothing, and what would exceed 292
// years (a clock that leaps to and fro) does not either.
func (m *machine) spentAt(now int64) (spent [6]int64) {
	if m.spent != nil {
		spent = *m.spent
	}
	elapsed := max(now-m.since, 0)
	if over := now - m.until; m.state == events.StateOpen && over > 0 { // the cooldown has passed unnoticed
		over = min(over, elapsed)
		spent[events.StateHalfOpen] = max(spent[events.StateHalfOpen], spent[events.StateHalfOpen]+over)
		elapsed -= over
	}
	spent[m.state] = max(spent[m.state], spent[m.state]+elapsed)
	return spent
}
