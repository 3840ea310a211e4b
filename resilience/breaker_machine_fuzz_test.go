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

func (s *schedule) rules() (rules breakerRules, width int64) {
	mode := s.next()
	rules = breakerRules{
		cooldown: time.Duration(span(s.next())), probes: 1 + int(s.next()%4), passes: 1 + int(s.next()%5),
		maxProbeTime: time.Duration(span(s.next())), minCalls: 1 + int64(s.next()%8),
	}
	if mode&1 != 0 {
		rules.consecutive = 1 + int64(mode>>4%5)
	}
	if mode&1 == 0 || mode&2 != 0 {
		rules.ratio = float64(1+s.next()%20) / 20
	}
	if mode&4 != 0 {
		rules.maxProbeTime = -1
	}
	return rules, max(span(s.next())/windowCells, 1)
}

// admitted is a call under way.
type admitted struct {
	id, changes int
	gen         uint32
	began       int64
}

// behave lets the machine and its model do the same, and compares them after each step.
func behave(t *testing.T, bytes []byte) {
	s := schedule{bytes}
	rules, width := s.rules()
	start := int64(-850_000_000_000_000_000) + int64(s.next())
	want := newModel(rules, width, start)
	m := newMachine(&rules, window{width: width}, start)
	var changes []modelChange
	made := func(c *transition) {
		if c == nil {
			return
		}
		if changes = append(changes, modelChange{c.from, c.to, c.reason}); c.seq != uint64(len(changes)) {
			t.Fatalf("transition %d has number %d", len(changes), c.seq)
		}
		m.next = time.Duration(want.grown(m.openings + 1)) // as its owner does
	}
	var under []admitted
	for id := 0; len(s.bytes) > 0; id++ {
		switch what := s.next(); what % 8 {
		case 0, 1:
			gen, ok, c := m.admit(want.now)
			made(c)
			if wanted := want.admit(id); ok != wanted {
				t.Fatalf("step %d: admitted %v, the model %v", id, ok, wanted)
			}
			if ok {
				under = append(under, admitted{id, len(changes), gen, want.now})
			}
		case 2, 3, 4:
			if len(under) == 0 {
				continue
			}
			i := int(s.next()) % len(under)
			c := under[i]
			under = slices.Delete(under, i, i+1)
			e := ending(what%8 - 2)
			got, late := m.settle(c.gen, c.began, e, nil, want.now)
			made(got)
			if wanted := want.settle(c.id, c.changes, e); late != wanted {
				t.Fatalf("step %d: late %v, the model %v", id, late, wanted)
			}
		case 5:
			want.pass(span(s.next()) - 1)
		case 6:
			made(m.reset(want.now))
			want.reset()
		case 7:
			if what > 200 {
				made(m.force(want.now))
				want.force()
			} else {
				want.pass(span(what))
			}
		}
		agree(t, id, &m, want, changes)
	}
}

// BRK-01, BRK-02, BRK-06, BRK-07, BRK-08, BRK-09, BRK-13: the machine does what the plain model does.
func TestBreakerMachineBehavesAsItsModel(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		bytes := make([]byte, 250)
		for i := range bytes {
			bytes[i] = byte(random.Uint32N(256))
		}
		behave(t, bytes)
	}
}

// BRK-01, BRK-02, BRK-06, BRK-07, BRK-08, BRK-09, BRK-13: whatever happens.
func FuzzBreakerMachineBehavesAsItsModel(f *testing.F) {
	f.Add([]byte("\x01\x05\x00\x00\x05\x00\x03" + "\x00\x02\x00\x02\x07\x0f\x00\x01"))
	f.Add([]byte("\x33\x03\x02\x01\x01\x02\x01\x01" + "\x00\x02\x00\x02\x00\x02\x06\x0f\x00\x00\x06\x0f\x00\x04\x05\x00"))
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
	for state := events.StateClosed; state <= events.StateForcedOpen; state++ {
		if got := m.spentAt(want.now)[state]; got != want.stayed[state] {
			t.Fatalf("step %d: %v in %v, the model %v", step, time.Duration(got), state, time.Duration(want.stayed[state]))
		}
	}
	if want.rules.ratio > 0 && want.state == events.StateClosed {
		gotCalls, gotFailures, _ := m.counted(want.now)
		if calls, failures := want.windowed(); gotCalls != calls || gotFailures != failures {
			t.Fatalf("step %d: %d of %d failed, the model %d of %d", step, gotFailures, gotCalls, failures, calls)
		}
	}
}

// PIPE-26, BRK-07: whatever happened, in whatever order of time, a breaker that nobody forced lets probes through some
// cooldowns and probes' times later, and closes when they succeed.
func FuzzBreakerMachineIsNeverStuck(f *testing.F) {
	f.Add([]byte("\x01\x05\x00\x00\x05\x00\x03\x00\x02\x00\x02\x07\x0f\x00\x01\x05\xff"))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		s := schedule{bytes}
		rules, width := s.rules()
		rules.maxProbeTime = max(rules.maxProbeTime, time.Millisecond) // without a limit a lost probe does stick
		at := int64(0)
		m := newMachine(&rules, window{width: width}, at)
		var under []admitted
		for len(s.bytes) > 0 {
			switch what := s.next(); what % 8 {
			case 0, 1:
				if gen, ok, _ := m.admit(at); ok {
					under = append(under, admitted{gen: gen, began: at})
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
				m.reset(at)
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
			return m.state == events.StateClosed || rules.ratio > 0 && m.state == events.StateOpen
		}
		if !closes() {
			t.Fatalf("stuck %v, %d probes under way", m.state, len(m.probing))
		}
	})
}
