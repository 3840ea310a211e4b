package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// curve is what a call costs while something grows.
type curve struct {
	name, grows, doc string
	points           []int
	lines            []line
	goroutines       bool // the points are how many goroutines call
}

// line is one contestant of a curve: who does the work when there are so many.
type line struct {
	name  string
	start func(many int) worker
}

var curves = []curve{
	{
		name: "pipelines", grows: "pipelines called in turn", points: []int{1, 10, 100, 1000, 10_000},
		doc: "Each call goes to another pipeline, with a bulkhead, two timeouts, a retry and a breaker of its own. Pipelines know nothing of each other: what grows is what the processor's caches miss.",
		lines: []line{{"the whole stack", func(many int) worker {
			all := make([]func() bool, many)
			for i := range all {
				bus := events.NewBus()
				all[i] = through(bus, wholeStack(bus)...)()
			}
			return inTurn(many, func(i int) bool { return all[i]() })
		}}},
	},
	{
		name: "layers", grows: "layers of one pipeline", points: []int{1, 2, 3, 4, 6, 8, 12},
		doc: "Each layer does its work, so the cost is linear, a call's fixed share apart.",
		lines: []line{
			{"bulkheads", func(many int) worker {
				return ofLayers(many, func(name string, bus *events.Bus) resilience.Layer {
					return resilience.MustBulkhead(resilience.BulkheadConfig{Name: name, Bus: bus})
				})
			}},
			{"breakers", func(many int) worker {
				return ofLayers(many, func(name string, bus *events.Bus) resilience.Layer {
					return resilience.MustBreaker(resilience.BreakerConfig{Name: name, Bus: bus, FailureRatio: 0.5})
				})
			}},
		},
	},
	{
		name: "subscribers", grows: "subscribers", points: []int{0, 1, 2, 4, 8},
		doc: "An event is built once, when somebody listens; each further subscriber costs the call of its function, one after the other. `Bus.Subscribe` hears everything, each event boxed for it; who subscribes to a topic gets the event by value.",
		lines: []line{
			{"watching executions", subscribed(func(bus *events.Bus, heard *atomic.Int64) {
				bus.Execution.Watch(func(context.Context, events.ExecutionStarted) func(events.ExecutionFinished) {
					heard.Add(1)
					return nil
				})
			})},
			{"hearing everything", subscribed(func(bus *events.Bus, heard *atomic.Int64) {
				bus.Subscribe(func(context.Context, events.Event) { heard.Add(1) })
			})},
		},
	},
	{
		name: "keys", grows: "keys called in turn", points: []int{1, 10, 100, 1000, 10_000, 100_000},
		doc: "A gate for each key, found by a hash: no lock, no search. What grows is what the processor's caches miss.",
		lines: []line{
			{"bulkhead for each key", func(many int) worker {
				return ofKeys(many, func(string) (resilience.Gate, error) {
					return resilience.NewBulkhead(resilience.BulkheadConfig{Name: "tenant", Bus: events.Off()})
				})
			}},
			{"breaker for each key", func(many int) worker {
				return ofKeys(many, func(string) (resilience.Gate, error) {
					return resilience.NewBreaker(resilience.BreakerConfig{Name: "host", FailureRatio: 0.5, Bus: events.Off()})
				})
			}},
		},
	},
	{
		name: "goroutines", grows: "goroutines calling at once", points: []int{1, 10, 100, 1000, 10_000}, goroutines: true,
		doc: "All share one pipeline and its state. What they write is atomic or, in the breaker's window, spread: no goroutine waits for another to be scheduled.",
		lines: []line{
			{"atomic add", func(int) worker {
				var n atomic.Int64
				return func() func() bool { return func() bool { return n.Add(1) > 0 } }
			}},
			{"bulkhead", shared(func(bus *events.Bus) resilience.Layer {
				return resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", MaxConcurrent: 1 << 20, Bus: bus})
			})},
			{"breaker", shared(func(bus *events.Bus) resilience.Layer {
				return resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureRatio: 0.5, Bus: bus})
			})},
			{"rate limiter", shared(func(bus *events.Bus) resilience.Layer {
				return resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "quota", Rate: 1e9, Bus: bus})
			})},
			{"adaptive limiter", shared(func(bus *events.Bus) resilience.Layer {
				return resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "adaptive", Min: 500_000, Initial: 500_000, Max: 1_000_000, Bus: bus})
			})},
			{"the whole stack", func(int) worker {
				bus := events.NewBus()
				return through(bus, wholeStack(bus)...)
			}},
		},
	},
}

func wholeStack(bus *events.Bus) []resilience.Layer {
	return []resilience.Layer{
		resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", MaxConcurrent: 1 << 20, Bus: bus}),
		resilience.Timeout{After: longEnough},
		resilience.Retry{},
		resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureRatio: 0.5, Bus: bus}),
		resilience.Timeout{After: time.Second},
	}
}

// subscribed calls the whole stack with so many subscribers.
func subscribed(subscribe func(bus *events.Bus, heard *atomic.Int64)) func(int) worker {
	return func(many int) worker {
		bus, heard := events.NewBus(), new(atomic.Int64)
		for range many {
			subscribe(bus, heard)
		}
		return through(bus, wholeStack(bus)...)
	}
}

// inTurn does work on each of so many, in an order that no cache foresees.
func inTurn(many int, work func(i int) bool) worker {
	const stride = 7919 // a prime, and no factor of how many there are
	return func() func() bool {
		i := 0
		return func() bool {
			i = (i + stride) % many
			return work(i)
		}
	}
}

func ofLayers(many int, layer func(name string, bus *events.Bus) resilience.Layer) worker {
	bus := events.NewBus()
	all := make([]resilience.Layer, many)
	for i := range all {
		all[i] = layer(fmt.Sprint("layer-", i), bus)
	}
	return through(bus, all...)
}

func shared(layer func(bus *events.Bus) resilience.Layer) func(int) worker {
	return func(int) worker {
		bus := events.NewBus()
		return through(bus, layer(bus))
	}
}

// through calls one pipeline with these layers.
func through(bus *events.Bus, layers ...resilience.Layer) worker {
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "benchmark", Bus: bus, Layers: layers})
	return func() func() bool {
		return func() bool { v, err := p.Do(background, answers); return v == answer && err == nil }
	}
}

func ofKeys(many int, gate func(key string) (resilience.Gate, error)) worker {
	bus := events.NewBus()
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "benchmark", Bus: bus, Layers: []resilience.Layer{
		resilience.MustKeyed(resilience.KeyedConfig{Name: "keyed", New: gate, MaxKeys: many, Bus: bus})}})
	keys := make([]string, many)
	for i := range keys {
		keys[i] = fmt.Sprint("tenant-", i)
		if _, err := p.DoKey(background, keys[i], answers); err != nil {
			panic(err)
		}
	}
	return inTurn(many, func(i int) bool { v, err := p.DoKey(background, keys[i], answers); return v == answer && err == nil })
}

// measured is what a call costs at each point of a line.
type measured struct {
	line    string
	results []result
}

// measure has the points of all lines take turns; with goroutines, the lines at each point.
func (c curve) measure(s settings, progress io.Writer) ([]measured, error) {
	fmt.Fprintf(progress, "%s\n", c.name)
	all := make([]measured, len(c.lines))
	for i, l := range c.lines {
		all[i].line = l.name
	}
	if c.goroutines {
		for _, many := range c.points {
			if err := c.contest(many, s, all, many); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return all, c.contest(1, s, all, c.points...)
}

// contest measures the lines at some points and adds the results.
func (c curve) contest(goroutines int, s settings, all []measured, points ...int) error {
	w := workload{name: c.name}
	for _, l := range c.lines {
		for _, many := range points {
			w.contestants = append(w.contestants, contestant{fmt.Sprint(l.name, " at ", many), ours, func() worker { return l.start(many) }})
		}
	}
	results, err := contest(w, goroutines, s)
	for i, r := range results {
		at := &all[i/len(points)]
		at.results = append(at.results, r)
	}
	return err
}
