package promres

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
)

// breaker is what the state of a circuit breaker counts into.
type breaker struct {
	name        string
	transitions []*family[prometheus.Counter] // by the state entered, then reason
	times       *stateTimes
	spent       stateTime // as last read; guarded by times.mu
}

// stateTime is the time spent in each state, by state.
type stateTime = [len(events.BreakerReading{}.Spent)]time.Duration

// openBreaker makes what a breaker's state counts into. What may be published starts at zero.
func (a *adapter) openBreaker(r *row, s *events.Source) *breaker {
	name := label(s.Layer())
	b := &breaker{name: name, times: a.stateTimes}
	for state := range len(events.States()) + 1 {
		b.transitions = append(b.transitions, newFamily(r, a.metrics.breakerTransitions, len(events.Reasons())+1, func(reason int) []string {
			return []string{name, enumLabel[events.State](state), enumLabel[events.Reason](reason)}
		}))
	}
	for _, t := range events.Transitions() {
		b.transitions[t.To].at(int(t.Reason))
	}
	a.stateTimes.hold(r, b)
	return b
}

func (a *adapter) breakerStateChanged(_ context.Context, e events.BreakerStateChanged) {
	r := a.row(e.Meta)
	if r == nil || r.breaker == nil {
		return
	}
	to := int(e.To)
	if to >= len(r.breaker.transitions) {
		to = 0
	}
	r.breaker.transitions[to].at(int(e.Reason)).Inc()
}

// stateTimes adds up the time in each state of breakers with equal names. It is a counter, so what a breaker has spent
// stays in the sum when it goes while another of its name is there.
type stateTimes struct {
	mu   sync.Mutex
	held map[string]*namedTimes
}

type namedTimes struct {
	live map[*breaker]struct{}
	past stateTime // of those that are gone
}

func newStateTimes() *stateTimes { return &stateTimes{held: map[string]*namedTimes{}} }

// hold counts the breaker in until the row is closed.
func (t *stateTimes) hold(r *row, b *breaker) {
	r.keep(hold{from: b})
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.held[b.name]
	if n == nil {
		n = &namedTimes{live: map[*breaker]struct{}{}}
		t.held[b.name] = n
	}
	n.live[b] = struct{}{}
}

func (b *breaker) letGo([]string) {
	t := b.times
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.held[b.name]
	delete(n.live, b)
	if len(n.live) == 0 {
		delete(t.held, b.name)
		return
	}
	for state, d := range b.spent {
		n.past[state] += d
	}
}

// read takes a breaker's reading. Of two scrapes at once the later reading counts.
func (t *stateTimes) read(b *breaker, spent stateTime) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for state, d := range spent {
		b.spent[state] = max(b.spent[state], d)
	}
}

// of returns the sums of a name.
func (t *stateTimes) of(name string) stateTime {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.held[name]
	if n == nil {
		return stateTime{}
	}
	sum := n.past
	for b := range n.live {
		for state, d := range b.spent {
			sum[state] += d
		}
	}
	return sum
}
