package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/promres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/slogres"
)

// rates are how many events a second are offered.
var rates = []int{0, 1000, 10_000, 100_000, 300_000, 1_000_000}

// listener attaches to a bus what turns its events into telemetry, until detach.
type listener struct {
	name   string
	attach func(*events.Bus) (detach func(), err error)
}

var listeners = []listener{
	{"nobody", func(*events.Bus) (func(), error) { return func() {}, nil }},
	{"promres", func(bus *events.Bus) (func(), error) {
		return promres.Attach(bus, promres.Config{Registerer: prometheus.NewRegistry()})
	}},
	{"otelres, metrics", func(bus *events.Bus) (func(), error) {
		return otelres.Attach(bus, otelres.Config{TracerProvider: unsampled(), MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))})
	}},
	{"otelres, metrics and all spans", func(bus *events.Bus) (func(), error) {
		return otelres.Attach(bus, otelres.Config{
			TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithBatcher(forgetting{})),
			MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))})
	}},
	{"slogres, as JSON", func(bus *events.Bus) (func(), error) {
		return slogres.Attach(bus, slogres.Config{Handler: slog.NewJSONHandler(io.Discard, nil)})
	}},
}

func unsampled() *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
}

// forgetting is an exporter that sends spans nowhere.
type forgetting struct{}

func (forgetting) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (forgetting) Shutdown(context.Context) error                             { return nil }

// flaky is a pipeline of which one call in ten needs a retry, and what calls it once.
func flaky(bus *events.Bus) func() error {
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "benchmark", Bus: bus, Layers: []resilience.Layer{
		resilience.Retry{Backoff: resilience.NoDelay},
		resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureRatio: 0.5, Bus: bus}),
	}})
	calls, failed := 0, false
	work := func(context.Context) (int, error) {
		if failed = calls%10 == 0 && !failed; failed {
			return 0, errDown
		}
		return answer, nil
	}
	return func() error {
		calls++
		_, err := p.Do(background, work)
		return err
	}
}

// eventsACall counts what a call publishes, starts and ends included.
func eventsACall() (float64, error) {
	bus := events.NewBus()
	var heard atomic.Int64
	call := flaky(bus)
	bus.Subscribe(func(context.Context, events.Event) { heard.Add(1) })
	const calls = 1000
	for range calls {
		if err := call(); err != nil {
			return 0, err
		}
	}
	return float64(heard.Load()) / calls, nil
}

// load is what a listener costs at a rate.
type load struct {
	offered  int
	achieved float64 // events a second
	cores    float64 // processor time of the process, a second
}

// underLoad offers each listener each rate, in a new order every round; the medians count.
func underLoad(s settings, progress io.Writer) (map[string][]load, error) {
	fmt.Fprintln(progress, "events a second")
	each, err := eventsACall()
	if err != nil {
		return nil, err
	}
	type turn struct {
		listener
		rate int
		runs []load
	}
	var turns []*turn
	for _, l := range listeners {
		for _, r := range rates {
			turns = append(turns, &turn{listener: l, rate: r})
		}
	}
	for range s.rounds {
		rand.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
		for _, t := range turns {
			run, err := t.offer(t.rate, each, s.round)
			if err != nil {
				return nil, fmt.Errorf("%s at %d events/s: %w", t.name, t.rate, err)
			}
			t.runs = append(t.runs, run)
		}
	}
	slices.SortFunc(turns, func(a, b *turn) int { return a.rate - b.rate })
	loads := map[string][]load{}
	for _, t := range turns {
		loads[t.name] = append(loads[t.name], load{t.rate,
			median(t.runs, func(l load) float64 { return l.achieved }), median(t.runs, func(l load) float64 { return l.cores })})
	}
	return loads, nil
}

// offer makes calls at a steady rate, from one goroutine, for so long.
func (l listener) offer(rate int, eventsACall float64, lasts time.Duration) (load, error) {
	bus := events.NewBus()
	detach, err := l.attach(bus)
	if err != nil {
		return load{}, err
	}
	defer detach()
	call, calls := flaky(bus), 0
	perSecond := float64(rate) / eventsACall
	cpu, began := processTime(), time.Now()
	for now := began; now.Sub(began) < lasts; now = time.Now() {
		for due := int(perSecond * now.Sub(began).Seconds()); calls < due && time.Since(began) < lasts; calls++ {
			if err := call(); err != nil {
				return load{}, err
			}
		}
		time.Sleep(time.Millisecond)
	}
	took := time.Since(began)
	if rate > 0 && calls == 0 {
		return load{}, errors.New("no call was made")
	}
	return load{rate, float64(calls) * eventsACall / took.Seconds(), (processTime() - cpu).Seconds() / took.Seconds()}, nil
}
