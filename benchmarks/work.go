package main

import (
	"context"
	"errors"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// answer is what every operation returns, and every contestant must hand on.
const answer = 42

var (
	errDown    = errors.New("down")
	background = context.Background()
)

func answers(context.Context) (int, error) { return answer, nil }

// waits is an operation that looks at its context's end, as one does that uses the network.
func waits(ctx context.Context) (int, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-ready:
		return answer, nil
	}
}

// ready lets every waiting operation go on at once.
var ready = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// failing returns an operation that fails twice and then succeeds, again and again.
func failing() func(context.Context) (int, error) {
	n := 0
	return func(context.Context) (int, error) {
		if n++; n%3 != 0 {
			return 0, errDown
		}
		return answer, nil
	}
}

// pipeline is Telltale with these layers, and nobody listening.
func pipeline(layers ...resilience.Layer) *resilience.Pipeline[int] {
	return resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "benchmark", Layers: layers, Bus: events.NewBus()})
}

// telltale is a contestant that runs op through a pipeline with these layers.
func telltale(op func() resilience.Operation[int], layers func() []resilience.Layer) contestant {
	return contestant{"Telltale", ours, func() worker {
		p := pipeline(layers()...)
		return func() func() bool {
			op := op()
			return func() bool {
				v, err := p.Do(background, op)
				return v == answer && err == nil
			}
		}
	}}
}

// the returns a function that returns op: an operation without a state of its own.
func the(op func(context.Context) (int, error)) func() resilience.Operation[int] {
	return func() resilience.Operation[int] { return op }
}

func layers(all ...resilience.Layer) func() []resilience.Layer {
	return func() []resilience.Layer { return all }
}

// simple is a contestant whose work has no state.
func simple(name string, r role, work func() bool) contestant {
	return contestant{name, r, func() worker { return func() func() bool { return work } }}
}

const longEnough = 10 * time.Second
