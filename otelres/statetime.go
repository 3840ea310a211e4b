package otelres

import (
	"slices"
	"sync"
	"time"

	"github.com/telltale-go/telltale/events"
)

// stateTimes adds up the time that breakers spent in each state. Breakers of one name share a counter, which must not
// fall when one of them goes.
type stateTimes struct {
	mu     sync.Mutex // guards all that is reached from here
	byName map[string]*stateTotal
}

// stateTotal is the counter of one name.
type stateTotal struct {
	name     string
	breakers int
	sum      []time.Duration // by events.State
}

// stateTime is one breaker's part.
type stateTime struct {
	of   *stateTotal
	seen []time.Duration // as last read, by events.State
}

func (t *stateTimes) open(name string) *stateTime {
	t.mu.Lock()
	defer t.mu.Unlock()
	total := t.byName[name]
	if total == nil {
		if t.byName == nil {
			t.byName = map[string]*stateTotal{}
		}
		total = &stateTotal{name: name, sum: make([]time.Duration, len(events.States())+1)}
		t.byName[name] = total
	}
	total.breakers++
	return &stateTime{of: total, seen: make([]time.Duration, len(total.sum))}
}

func (t *stateTimes) drop(s *stateTime) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.of.breakers--; s.of.breakers == 0 {
		delete(t.byName, s.of.name)
	}
}

// add takes in what a breaker says and returns the sum of its name.
func (t *stateTimes) add(s *stateTime, spent []time.Duration) (sum []time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range s.seen {
		if i < len(spent) && spent[i] > s.seen[i] { // two collections at once may come in the wrong order
			s.of.sum[i] += spent[i] - s.seen[i]
			s.seen[i] = spent[i]
		}
	}
	return slices.Clone(s.of.sum)
}
