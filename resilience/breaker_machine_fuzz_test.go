package resilience

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
)

// schedule reads a breaker's rules and what happens to it out of bytes.
type schedule struct{ bytes []byte }

func (s *schedule) next() byte {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return b
}

// rules are of every mode, and of modes together.
func (s *schedule) rules() *breakerRules {
	mode := s.next()
	rules := &breakerRules{
		cooldown: time.Duration(span(s.next())), probes: 1 + int32(s.next()%4), passes: 1 + int32(s.next()%5),
		maxProbeTime: time.Duration(span(s.next())), minCalls: 1 + int32(s.next()%8), countDeadlines: mode&128 != 0,
	}
	if mode&1 != 0 {
		rules.consecutive = 1 + int32(mode>>4%5)
	}
	if mode&1 == 0 || mode&2 != 0 {
		rules.ratio = float64(1+s.next()%20) / 20
	}
	if mode&4 != 0 {
		rules.maxProbeTime = -1
	}
	if mode&8 != 0 {
		rules.slow = &slowRules{time.Duration(span(s.next())/3 + 1), float64(1+s.next()%20) / 20}
	}
	if rules.ratio == 0 && rules.slow == nil {
		return rules
	}
	if width := s.next(); mode&16 != 0 {
		rules.windowCalls = 1 + int32(width%12)
		rules.minCalls = min(rules.minCalls, rules.windowCalls)
	} else {
		rules.window = time.Duration(max(span(width), windowCells))
	}
	return rules
}

// admitted is a call under way, as the machine's owner knows it.
type admitted struct {
	gen   uint32
	began int64
}

// behave lets the machine and its model do the same, and compares them after each step. Like its owner it keeps successes
// back that quick says are numbers alone, and tells them before whatever else. It returns the transitions.
func behave(t *testing.T, bytes []byte) (changes []modelChange) {
	s := schedule{bytes}
	rules := s.rules()
	start := int64(-850_000_000_000_000_000) + int64(s.next())
	want := newModel(rules, start)
	m := newMachine(rules, start)
	made := func(c *transition) {
		if c == nil {
			return
		}
		if changes = append(changes, modelChange{c.from, c.to, c.reason}); c.seq != uint64(len(changes)) {
			t.Fatalf("transition %d has number %d", len(changes), c.seq)
		}
		m.next = time.Duration(want.grown(int(m.openings) + 1)) // as its owner does
	}
	var under []admitted
	untold := int64(0)
	for step := 0; len(s.bytes) > 0; step++ {
		what := s.next()
		i := 0
		if n := len(under); what%8 >= 2 && what%8 <= 4 {
			if n == 0 {
				continue
			}
			i = int(s.next()) % n
			_, counts := m.quick()
			inCell := m.window == nil || uint64(want.now-m.window.start(rules.cellWidth())) < uint64(rules.cellWidth())
			if what%8 == 2 && m.underWay != nil && m.landed(under[i].gen, under[i].began, want.now) {
				under = slices.Delete(under, i, i+1)
				if want.settle(i, endedWell) {
					t.Fatalf("step %d: a success that has landed is late", step)
				}
				agree(t, step, &m, want, changes)
				continue
			}
			if what%8 == 2 && counts && inCell && under[i].gen == m.gen {
				untold++
				under = slices.Delete(under, i, i+1)
				if want.settle(i, endedWell) {
					t.Fatalf("step %d: a success that is a number alone is late", step)
				}
				continue
			}
		}
		if untold > 0 {
			m.succeeded(untold)
			untold = 0
		}
		switch what % 8 {
		case 0, 1:
			gen, ok, c := m.gen, m.underWay != nil && m.tookOff(want.now), (*transition)(nil)
			if !ok {
				gen, ok, c = m.admit(want.now)
			}
			made(c)
			if wanted := want.admit(step); ok != wanted {
				t.Fatalf("step %d: admitted %v, the model %v", step, ok, wanted)
			}
			if ok {
				under = append(under, admitted{gen, want.now})
			}
		case 2, 3, 4:
			c := under[i]
			under = slices.Delete(under, i, i+1)
			e := []ending{endedWell, endedBadly, endedIgnored, endedWell, endedBadly, endedCanceled, endedWell, endedBadly, endedByDeadline}[what%8-2+3*(what>>3%3)]
			got, late := m.settle(c.gen, c.began, e, nil, want.now)
			made(got)
			if wanted := want.settle(i, e); late != wanted {
				t.Fatalf("step %d: late %v, the model %v", step, late, wanted)
			}
		case 5:
			want.pass(span(s.next()) - 1)
		case 6:
			made(m.reset(want.now))
			want.command(true, false, false, false)
		case 7:
			switch {
			case what > 240:
				made(m.force(want.now))
				want.command(false, true, false, false)
			case what > 220:
				made(m.disable(want.now))
				want.command(false, false, true, false)
			case what > 180:
				made(m.enable(want.now))
				want.command(false, false, false, true)
			default:
				want.pass(span(what))
			}
		}
		agree(t, step, &m, want, changes)
	}
	return changes
}

// BRK-18, BRK-01, BRK-02, BRK-03, BRK-04, BRK-06, BRK-07, BRK-08, BRK-09, BRK-11, BRK-13: the machine does what the
// plain model does.
func TestBreakerMachineBehavesAsItsModel(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	times := map[events.Transition]int{}
	for range 3000 {
		bytes := make([]byte, 250)
		for i := range bytes {
			bytes[i] = byte(random.Uint32N(256))
		}
		for _, c := range behave(t, bytes) {
			times[events.Transition{To: c.to, Reason: c.reason}]++
		}
	}
	for _, possible := range events.Transitions() {
		if times[possible] < 100 {
			t.Errorf("%v happened %d times only: the schedules prove little of it", possible, times[possible])
		}
	}
}

// BRK-18: whatever happens.
func FuzzBreakerMachineBehavesAsItsModel(f *testing.F) {
	f.Add([]byte("\x01\x05\x00\x00\x05\x00\x03" + "\x00\x02\x00\x02\x07\x0f\x00\x01"))
	f.Add([]byte("\x33\x03\x02\x01\x01\x02\x01\x01" + "\x00\x02\x00\x02\x00\x02\x06\x0f\x00\x00\x06\x0f\x00\x04\x05\x00"))
	f.Add([]byte("\x18\x05\x00\x00\x05\x01\x09\x03\x09\x05\x00" + "\x00\x00\x00\x05\x09\x00\xe7\xc7\x00\x02\x00"))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if len(bytes) <= 400 {
			behave(t, bytes)
		}
	})
}

// agree compares all that the machine shows with the model.
func agree(t *testing.T, step int, m *machine, want *model, changes []modelChange) {
	t.Helper()
	if got := m.seen(want.now); got != want.seen() || !slices.Equal(changes, want.told) {
		t.Fatalf("step %d: %v after %v, the model %v after %v", step, got, changes, want.seen(), want.told)
	}
	for state := events.StateClosed; state <= events.StateDisabled; state++ {
		if got := m.spentAt(want.now)[state]; got != want.stayed[state] {
			t.Fatalf("step %d: %v in %v, the model %v", step, time.Duration(got), state, time.Duration(want.stayed[state]))
		}
	}
	if want.rules.ratio == 0 && want.rules.slow == nil || want.state != events.StateClosed {
		return
	}
	if got, _ := m.counted(want.now); got != want.counted() {
		t.Fatalf("step %d: %+v, the model %+v", step, got, want.counted())
	}
}

// PIPE-26, BRK-07: whatever happened, in whatever order of time, a breaker that nobody forced lets probes through some
// cooldowns and probes' times later, and closes when they succeed.
func FuzzBreakerMachineIsNeverStuck(f *testing.F) {
	f.Add([]byte("\x01\x05\x00\x00\x05\x00\x03\x00\x02\x00\x02\x07\x0f\x00\x01\x05\xff"))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		s := schedule{bytes}
		rules := s.rules()
		rules.maxProbeTime = max(rules.maxProbeTime, time.Millisecond) // without a limit a lost probe does stick
		at := int64(0)
		m := newMachine(rules, at)
		var under []admitted
		for len(s.bytes) > 0 {
			switch what := s.next(); what % 8 {
			case 0, 1:
				if gen, ok, _ := m.admit(at); ok {
					under = append(under, admitted{gen, at})
				}
			case 2, 3, 4:
				if i := int(s.next()); i < len(under) { // the others never end
					m.settle(under[i].gen, under[i].began, ending(what%8-2), nil, at)
					under = slices.Delete(under, i, i+1)
				}
			case 5:
				at += span(s.next())
			case 6:
				at -= span(s.next()) << 20 // up to two years
			case 7:
				if m.reset(at); s.next() > 200 {
					m.disable(at)
					m.enable(at)
				}
			}
			for state, spent := range m.spentAt(at) {
				if spent < 0 {
					t.Fatalf("%v spent in %v", spent, events.State(state))
				}
			}
		}
		closes := func() bool {
			for range 3 { // a probe of another clock may seem young at first, and hang after that
				at += int64(max(rules.cooldown, rules.maxProbeTime))
				for range rules.passes {
					gen, ok, _ := m.admit(at)
					if !ok {
						break
					}
					m.settle(gen, at, endedWell, nil, at)
				}
			}
			return m.state == events.StateClosed || (rules.ratio > 0 || rules.slow != nil) && m.state == events.StateOpen
		}
		if !closes() {
			t.Fatalf("stuck %v, trial %+v", m.state, m.trial)
		}
	})
}
