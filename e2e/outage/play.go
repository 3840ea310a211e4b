// Package outage plays an outage in virtual time: a service whose pipelines share the breaker of a database goes on calling
// while that is down, and others hang or have a fallback. It is scraped as Prometheus would, and what happened is kept beside, told by the events, so
// that what monitoring shows can be compared with it.
package outage

import (
	"context"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/telltale-go/telltale/e2e/promql"
	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/promres"
)

// The database answers nothing but errors between two moments of the story.
const (
	Begins, Ends, Whole = 3 * time.Minute, 6 * time.Minute, 10 * time.Minute
	PerSecond           = 10 // calls of each pipeline; profiles are asked for by two at a time
)

// Down is the error of the database while it is down.
type Down struct{}

func (Down) Error() string { return "the database is down" }

// ErrorType is its class.
func (Down) ErrorType() string { return "database_down" }

// Story is what happened, told by the events themselves, and the scrapes of it.
type Story struct {
	Start       time.Time
	Scrapes     []promql.Scrape
	Transitions []events.BreakerStateChanged
	Executions  []events.ExecutionFinished
	Attempts    []events.AttemptFinished
	Hedges      []events.HedgeSettled
}

// Attach makes what happens on a bus visible at a handler. It may fail the test.
type Attach func(t *testing.T, bus *events.Bus) (exposed http.Handler, detach func())

// Promres attaches the Prometheus adapter.
func Promres(_ *testing.T, bus *events.Bus) (exposed http.Handler, detach func()) {
	registry := prometheus.NewRegistry()
	detach = promres.MustAttach(bus, promres.Config{Registerer: registry})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), detach
}

// Otelres attaches the OpenTelemetry adapter, and exposes its metrics by OpenTelemetry's own Prometheus exporter.
func Otelres(t *testing.T, bus *events.Bus) (exposed http.Handler, detach func()) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprom.New(otelprom.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	detach = otelres.MustAttach(bus, otelres.Config{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), detach
}

// Play plays the story, scraped at every interval.
func Play(t *testing.T, every time.Duration, attach Attach) *Story {
	s := new(Story)
	synctest.Test(t, func(t *testing.T) {
		s.Start = time.Now()
		bus := events.NewBus()
		exposed, detach := attach(t, bus)
		defer detach()
		s.listen(bus)
		traffic := traffic(bus)
		stop := make(chan struct{})
		var load sync.WaitGroup
		load.Go(func() { generate(s.Start, traffic, stop) })
		for time.Since(s.Start) < Whole {
			time.Sleep(every)
			scrape, err := promql.Take(exposed)
			if err != nil {
				t.Fatal(err)
			}
			s.Scrapes = append(s.Scrapes, scrape)
		}
		close(stop)
		load.Wait()
		runtime.KeepAlive(traffic)
	})
	return s
}

func (s *Story) listen(bus *events.Bus) {
	var mu sync.Mutex
	bus.BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) {
		mu.Lock()
		defer mu.Unlock()
		s.Transitions = append(s.Transitions, e)
	})
	bus.HedgeSettled.Subscribe(func(_ context.Context, e events.HedgeSettled) {
		mu.Lock()
		defer mu.Unlock()
		s.Hedges = append(s.Hedges, e)
	})
	bus.Execution.Observe(func(ctx context.Context, _ events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
		return ctx, func(e events.ExecutionFinished) {
			mu.Lock()
			defer mu.Unlock()
			s.Executions = append(s.Executions, e)
		}
	})
	bus.Attempt.Observe(func(ctx context.Context, _ events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
		return ctx, func(e events.AttemptFinished) {
			mu.Lock()
			defer mu.Unlock()
			s.Attempts = append(s.Attempts, e)
		}
	})
}

// Entered lists when the breaker entered a state, with the reason.
func (s *Story) Entered(state events.State) (all []events.BreakerStateChanged) {
	return slices.DeleteFunc(slices.Clone(s.Transitions), func(e events.BreakerStateChanged) bool { return e.To != state })
}

// Executed counts calls of a pipeline that ended between two moments of the story; outcome 0 counts all.
func (s *Story) Executed(pipeline string, outcome events.Outcome, from, to time.Duration) (n float64) {
	for _, e := range s.Executions {
		at := e.At.Sub(s.Start)
		if e.Source.Pipeline() == pipeline && (outcome == 0 || e.Outcome == outcome) && at > from && at <= to {
			n++
		}
	}
	return n
}

// Attempted counts runs of the operation likewise.
func (s *Story) Attempted(pipeline string, from, to time.Duration) (n float64) {
	for _, e := range s.Attempts {
		if at := e.At.Sub(s.Start); e.Source.Pipeline() == pipeline && at > from && at <= to {
			n++
		}
	}
	return n
}
