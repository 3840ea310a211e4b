package readings

import (
	"sync"
	"time"
)

// Times adds up the time that breakers spent in each state. Breakers of one name share a counter, which must not fall
// when one of them goes. The zero value is ready; it is safe for concurrent use.
type Times struct {
	mu     sync.Mutex // guards all that is reached from here
	byName map[string]*total
}

// total is the counter of one name.
type total struct {
	name     string
	breakers int
	sum      [states]time.Duration // by events.State
}

// Time is one breaker's part.
type Time struct {
	all  *Times
	of   *total
	seen [states]time.Duration // as last read
}

// Open counts a breaker in.
func (t *Times) Open(name string) *Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.byName[name]
	if of == nil {
		if t.byName == nil {
			t.byName = map[string]*total{}
		}
		of = &total{name: name}
		t.byName[name] = of
	}
	of.breakers++
	return &Time{all: t, of: of}
}

// Drop takes a breaker out that has gone. What it has spent stays in the sum as long as there is another of its name.
func (t *Time) Drop() {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	if t.of.breakers--; t.of.breakers == 0 {
		delete(t.all.byName, t.of.name)
	}
}

// add takes in what the breaker says and returns the sum of its name. Of two readings at once the later counts.
func (t *Time) add(spent [states]time.Duration) (sum [states]time.Duration) {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	for i, d := range spent {
		if d > t.seen[i] {
			t.of.sum[i] += d - t.seen[i]
			t.seen[i] = d
		}
	}
	return t.of.sum
}
