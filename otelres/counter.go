package otelres

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// counter has the series of one instrument. They stay, as a sum must not fall, and are told in the order in which they
// came: an SDK that takes a limited number of them must take the same ones at each collection.
type counter struct {
	whole   metric.Int64Observable
	seconds metric.Float64Observable // instead of whole, where time is counted

	mu    sync.Mutex // guards what follows; never held while an SDK is called
	bySet map[attribute.Distinct]*series
	told  []*series // it only grows
}

// series counts for one set of attributes. Counting is one atomic operation, and allocates nothing.
type series struct {
	n  atomic.Uint64 // of seconds: the bits of the number
	at [1]metric.ObserveOption
}

// of returns the series of a set of attributes. Those who ask for the same set share it.
func (c *counter) of(attributes ...attribute.KeyValue) *series {
	set := attribute.NewSet(attributes...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.bySet[set.Equivalent()]; s != nil {
		return s
	}
	if c.bySet == nil {
		c.bySet = map[attribute.Distinct]*series{}
	}
	s := &series{at: [1]metric.ObserveOption{metric.WithAttributeSet(set)}}
	c.bySet[set.Equivalent()] = s
	c.told = append(c.told, s)
	return s
}

// onUse returns a function that returns the series of a set of attributes, which exists from its first use on.
func (c *counter) onUse(attributes ...attribute.KeyValue) func() *series {
	return sync.OnceValue(func() *series { return c.of(attributes...) })
}

// tell observes the series that there are.
func (c *counter) tell(to metric.Observer) {
	c.mu.Lock()
	told := c.told
	c.mu.Unlock()
	for _, s := range told {
		if c.seconds != nil {
			to.ObserveFloat64(c.seconds, math.Float64frombits(s.n.Load()), s.at[:]...)
		} else {
			to.ObserveInt64(c.whole, int64(s.n.Load()), s.at[:]...)
		}
	}
}

// count adds 1.
func (s *series) count() { s.n.Add(1) }

// wait adds time to a series of seconds. A sum of nanoseconds in 64 bits would be full after 15 weeks of a thousand waiting
// callers.
func (s *series) wait(d time.Duration) {
	for {
		old := s.n.Load()
		if s.n.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+d.Seconds())) {
			return
		}
	}
}
