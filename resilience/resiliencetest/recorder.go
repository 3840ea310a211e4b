package resiliencetest

import (
	"context"
	"slices"
	"sync"

	"github.com/telltale-go/telltale/events"
)

// Recorder holds the events of a bus, in the order in which they were published. Make one with [Record]. It is safe for
// concurrent use.
type Recorder struct {
	names  []string
	cancel func()
	mu     sync.Mutex // guards all
	all    []events.Event
}

// Record records what is published on bus from now on, until Stop. With names it records only the events of pipelines,
// layers and shared states that bear one of them. The coming and going of sources is recorded, too; a test that counts
// events counts those of one type ([Of], [Want]).
func Record(bus *events.Bus, names ...string) *Recorder {
	r := &Recorder{names: slices.Clone(names)}
	r.cancel = bus.Subscribe(r.add)
	return r
}

func (r *Recorder) add(_ context.Context, e events.Event) {
	if s := e.Header().Source; len(r.names) > 0 && (s == nil || !slices.Contains(r.names, s.Pipeline()) && !slices.Contains(r.names, s.Layer())) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e)
}

// Events returns what was recorded so far.
func (r *Recorder) Events() []events.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// Reset forgets what was recorded so far.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = nil
}

// Stop ends the recording. What was recorded stays. Stopping again does nothing.
func (r *Recorder) Stop() { r.cancel() }

// Of returns the recorded events of one type, in order:
//
//	for _, e := range resiliencetest.Of[events.RetryScheduled](rec) {
func Of[E events.Event](r *Recorder) []E {
	var some []E
	for _, e := range r.Events() {
		if e, ok := e.(E); ok {
			some = append(some, e)
		}
	}
	return some
}
