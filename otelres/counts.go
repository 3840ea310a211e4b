package otelres

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"weak"

	"github.com/telltale-go/telltale/internal/names"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
)

// counts are what is counted for one meter, by every adapter that is or was attached to its provider. They are told for as
// long as the provider collects: what an adapter counted last is not lost when it is detached, and no sum falls when another
// is attached. They hold no adapter, and so no bus.
type counts struct {
	meter metric.Meter
	told  bool // false: the meter does nothing

	executions, attempts, failures, stops, rejections, timeouts, transitions *counter
	fallbacks, hedgeWins, hedgeDenials, flights, wait                        *counter

	all       []*counter
	observed  []metric.Observable // their instruments
	pipelines failuresByName
}

// known are the counts that providers hold; each goes with its provider.
var known struct {
	mu     sync.Mutex // never held while a provider is called
	counts []weak.Pointer[counts]
}

// countsOf returns the counts of a meter, which an earlier adapter may have made. Where Go cannot tell that two meters are
// the same, each adapter has counts of its own, and the SDK adds them up.
func countsOf(meter metric.Meter) *counts {
	c := newCounts(meter)
	if _, off := meter.(metricnoop.Meter); off {
		return c
	}
	c.told = true
	unregister := c.register()
	if unregister == nil || !reflect.ValueOf(meter).Comparable() {
		return c
	}
	first := c.keep()
	if first != c {
		unregister()
	}
	return first
}

// keep makes the counts known and returns them, or those of the same meter that are known already.
func (c *counts) keep() *counts {
	known.mu.Lock()
	defer known.mu.Unlock()
	known.counts = slices.DeleteFunc(known.counts, func(held weak.Pointer[counts]) bool { return held.Value() == nil })
	for _, held := range known.counts {
		if first := held.Value(); first != nil && first.meter == c.meter {
			return first
		}
	}
	known.counts = append(known.counts, weak.Make(c))
	return c
}

func newCounts(meter metric.Meter) *counts {
	c := &counts{meter: meter}
	m := maker{meter, &c.observed}
	c.executions = c.whole(m.observedCounter(names.Executions))
	c.attempts = c.whole(m.observedCounter(names.Attempts))
	c.failures = c.whole(m.observedCounter(names.AttemptFailures))
	c.stops = c.whole(m.observedCounter(names.RetryStops))
	c.rejections = c.whole(m.observedCounter(names.Rejections))
	c.timeouts = c.whole(m.observedCounter(names.Timeouts))
	c.transitions = c.whole(m.observedCounter(names.BreakerTransitions))
	c.fallbacks = c.whole(m.observedCounter(names.Fallbacks))
	c.hedgeWins = c.whole(m.observedCounter(names.HedgeWins))
	c.hedgeDenials = c.whole(m.observedCounter(names.HedgeDenials))
	c.flights = c.whole(m.observedCounter(names.FlightCalls))
	c.wait = c.add(&counter{seconds: m.observedSeconds(names.ExecutionWait)})
	return c
}

func (c *counts) whole(i metric.Int64Observable) *counter { return c.add(&counter{whole: i}) }

func (c *counts) add(made *counter) *counter {
	c.all = append(c.all, made)
	return made
}

// register tells them at each collection from now on. It returns nil if the provider refuses to.
func (c *counts) register() (unregister func()) {
	return atCollection(c.meter, c.observed, func(_ context.Context, to metric.Observer) error {
		for _, counter := range c.all {
			counter.tell(to)
		}
		return nil
	})
}
