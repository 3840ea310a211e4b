package main

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// tally counts what one client does, by the phase in which each call began.
type tally struct {
	mu     sync.Mutex // guards what follows
	phases []*count
}

// count is a tally of one phase.
type count struct {
	phase     string
	calls     int
	succeeded int
	durations []time.Duration
	sent      int // attempts that left the client in this phase, refused connections included
	reached   int // requests that the service has seen in this phase; counted tells whether it was asked
	counted   bool
}

func newTally() *tally { return &tally{phases: []*count{{}}} }

// clear forgets everything, for another round.
func (t *tally) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.phases = []*count{{}}
}

// enter begins a phase.
func (t *tally) enter(phase string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.phases = append(t.phases, &count{phase: phase})
}

func (t *tally) present() *count { return t.phases[len(t.phases)-1] }

// reached notes what the service has seen in the present phase.
func (t *tally) reached(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.present().reached, t.present().counted = n, true
}

// begun is a call under way.
type begun struct {
	tally *tally
	in    *count
	at    time.Time
}

func (t *tally) begin() begun {
	t.mu.Lock()
	defer t.mu.Unlock()
	return begun{t, t.present(), time.Now()}
}

func (b begun) end(err error) {
	took := time.Since(b.at)
	b.tally.mu.Lock()
	defer b.tally.mu.Unlock()
	b.in.calls++
	if err == nil {
		b.in.succeeded++
	}
	b.in.durations = append(b.in.durations, took)
}

// counting returns a transport that counts what it sends.
func (t *tally) counting(base http.RoundTripper) http.RoundTripper { return &counting{base, t} }

type counting struct {
	http.RoundTripper
	tally *tally
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.tally.mu.Lock()
	c.tally.present().sent++
	c.tally.mu.Unlock()
	return c.RoundTripper.RoundTrip(r)
}

// CloseIdleConnections is http.Client's way to its transport's connections.
func (c *counting) CloseIdleConnections() {
	if t, ok := c.RoundTripper.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// all returns the phases played so far, and their sum.
func (t *tally) all() (phases []count, sum count) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.phases {
		sum.calls += p.calls
		sum.succeeded += p.succeeded
		sum.sent += p.sent
		sum.reached += p.reached
		sum.counted = sum.counted || p.counted
		sum.durations = append(sum.durations, p.durations...)
		if p.phase != "" {
			phases = append(phases, *p)
		}
	}
	return phases, sum
}

// quantile returns the q-th quantile of the durations, 0 of none.
func quantile(durations []time.Duration, q float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
