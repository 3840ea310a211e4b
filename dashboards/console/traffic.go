package console

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
)

// seconds is how many of the last ones rates and latency are computed over.
const seconds = 10

// traffic is what is counted of one source while somebody looks: of a pipeline its calls, of a layer what it did (it
// rejected, retried, timed out: see did). Calls count into atomics; once a second they are read.
type traffic struct {
	calls *calls // nil: a layer's
	did   atomic.Uint64

	// What follows is guarded by watch.mu.
	lastDid uint64
	didIn   [seconds]uint64
}

// calls is what is counted of a pipeline's calls.
type calls struct {
	outcomes  [outcomes]atomic.Uint64
	attempts  atomic.Uint64
	durations [buckets]atomic.Uint64
	end       func(events.ExecutionFinished) // finished, bound once: binding it in each call would allocate

	// What follows is guarded by watch.mu.
	last tally
	in   [seconds]tally
}

// outcomes are those of events.Outcomes, and 0 for one that is not among them.
const outcomes = 7

// tally is how much of everything there was.
type tally struct {
	outcomes  [outcomes]uint64
	attempts  uint64
	durations [buckets]uint32
}

func newTraffic(s *events.Source) *traffic {
	t := new(traffic)
	if s.Type() == events.TypePipeline && s.Layer() == "" {
		t.calls = new(calls)
		t.calls.end = t.calls.finished
	}
	return t
}

func (c *calls) finished(e events.ExecutionFinished) {
	if e.Nested {
		return
	}
	o := int(e.Outcome)
	if o >= outcomes {
		o = 0
	}
	c.outcomes[o].Add(1)
	c.attempts.Add(uint64(max(e.Attempts, 0)))
	c.durations[bucketOf(e.Duration)].Add(1)
}

// listen counts what happens on a bus into a table, until cancel.
func listen(bus *events.Bus, table *events.Table[traffic]) (cancel func()) {
	did := func(m events.Meta) {
		if t := table.Get(m.Source); t != nil && !m.Nested {
			t.did.Add(1)
		}
	}
	cancels := []func(){
		bus.Execution.Watch(func(_ context.Context, e events.ExecutionStarted) func(events.ExecutionFinished) {
			if t := table.Get(e.Source); t != nil && t.calls != nil {
				return t.calls.end
			}
			return nil
		}),
		bus.CallRejected.Subscribe(func(_ context.Context, e events.CallRejected) { did(e.Meta) }),
		bus.RetryScheduled.Subscribe(func(_ context.Context, e events.RetryScheduled) { did(e.Meta) }),
		bus.TimedOut.Subscribe(func(_ context.Context, e events.TimedOut) { did(e.Meta) }),
		bus.HedgeStarted.Subscribe(func(_ context.Context, e events.HedgeStarted) { did(e.Meta) }),
		bus.FallbackUsed.Subscribe(func(_ context.Context, e events.FallbackUsed) { did(e.Meta) }),
		bus.FaultInjected.Subscribe(func(_ context.Context, e events.FaultInjected) { did(e.Meta) }),
		bus.FlightJoined.Subscribe(func(_ context.Context, e events.FlightJoined) {
			if e.Role == events.FlightFollower {
				did(e.Meta)
			}
		}),
	}
	return func() {
		for _, c := range cancels {
			c()
		}
	}
}

const rejected = "rejected"

// doing is the word for what a layer of a type did.
func doing(layerType string) string {
	switch layerType {
	case events.TypeRetry:
		return "retries"
	case events.TypeTimeout:
		return "timeouts"
	case events.TypeHedge:
		return "hedges"
	case events.TypeSingleflight:
		return "shared"
	case events.TypeFallback:
		return "fallbacks"
	case events.TypeChaos:
		return "faults"
	}
	return rejected
}

// sample puts what was counted since the last sample into slot i. watch.mu is held.
func (t *traffic) sample(i int) {
	did := t.did.Load()
	t.didIn[i], t.lastDid = did-t.lastDid, did
	c := t.calls
	if c == nil {
		return
	}
	in, last := &c.in[i], &c.last
	for o := range in.outcomes {
		n := c.outcomes[o].Load()
		in.outcomes[o], last.outcomes[o] = n-last.outcomes[o], n
	}
	n := c.attempts.Load()
	in.attempts, last.attempts = n-last.attempts, n
	for b := range in.durations {
		n := uint32(c.durations[b].Load())
		in.durations[b], last.durations[b] = n-last.durations[b], n
	}
}

// rates is what a pipeline's calls were like in the last seconds.
type rates struct {
	PerSecond       float64            `json:"calls_per_s"`
	ByOutcome       map[string]float64 `json:"calls_per_s_by_outcome"`
	AttemptsPerCall float64            `json:"attempts_per_call"` // 0 without calls
	P50             float64            `json:"p50_s"`
	P99             float64            `json:"p99_s"`
}

// rates sums up the slots. watch.mu is held.
func (c *calls) rates(over time.Duration) rates {
	var n, attempts uint64
	var by [outcomes]uint64
	durations := make([]uint64, buckets)
	for i := range c.in {
		in := &c.in[i]
		attempts += in.attempts
		for o, k := range in.outcomes {
			by[o] += k
			n += k
		}
		for b, k := range in.durations {
			durations[b] += uint64(k)
		}
	}
	r := rates{PerSecond: float64(n) / over.Seconds(), ByOutcome: map[string]float64{}}
	for _, o := range events.Outcomes() {
		r.ByOutcome[o.String()] = float64(by[o]) / over.Seconds()
	}
	if n > 0 {
		r.AttemptsPerCall = float64(attempts) / float64(n)
		r.P50, r.P99 = quantile(durations, 0.5).Seconds(), quantile(durations, 0.99).Seconds()
	}
	return r
}

// perSecond is how often a layer did what it does. watch.mu is held.
func (t *traffic) perSecond(over time.Duration) float64 {
	var n uint64
	for _, k := range t.didIn {
		n += k
	}
	return float64(n) / over.Seconds()
}
