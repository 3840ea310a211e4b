// Package outage plays an outage of a database in virtual time: a service whose pipelines share the database's breaker goes
// on calling while it is down. It is scraped as Prometheus would, and what happened is kept beside, told by the events, so
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
	"github.com/telltale-go/telltale/resilience"
)

// The database answers nothing but errors between two moments of the story.
const (
	Begins, Ends, Whole = 3 * time.Minute, 6 * time.Minute, 10 * time.Minute
	PerSecond           = 10 // calls of each pipeline
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
		pipelines := pipelines(bus)
		stop := make(chan struct{})
		var load sync.WaitGroup
		load.Go(func() { generate(s.Start, pipelines, stop) })
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
		runtime.KeepAlive(pipelines)
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

// pipelines: two share the breaker of their database; the third has a dependency that hangs at the same time.
func pipelines(bus *events.Bus) []*resilience.Pipeline[int] {
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "orders-db", FailureRatio: 0.5, MinCalls: 20, Cooldown: 20 * time.Second, Bus: bus})
	pool := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", MaxConcurrent: 50, Bus: bus})
	desk := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "search-desk", MaxConcurrent: 3, MaxQueue: 3, MaxWait: 200 * time.Millisecond, Bus: bus})
	build := func(name string, layers ...resilience.Layer) *resilience.Pipeline[int] {
		return resilience.MustPipeline(resilience.PipelineConfig[int]{Name: name, Bus: bus, Layers: layers})
	}
	return []*resilience.Pipeline[int]{
		build("orders.create", pool, resilience.Timeout{Name: "total", After: 3 * time.Second},
			resilience.Retry{Backoff: resilience.Exponential{Base: 50 * time.Millisecond}}, db,
			resilience.Timeout{Name: "attempt", After: 500 * time.Millisecond}),
		build("orders.get", resilience.Timeout{After: time.Second}, db),
		build("search", desk, resilience.Timeout{After: 500 * time.Millisecond}),
	}
}

// generate calls every pipeline PerSecond times a second, until stop.
func generate(start time.Time, pipelines []*resilience.Pipeline[int], stop <-chan struct{}) {
	var calls sync.WaitGroup
	defer calls.Wait()
	ticker := time.NewTicker(time.Second / PerSecond)
	defer ticker.Stop()
	hangs := pipelines[len(pipelines)-1]
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		for _, p := range pipelines {
			calls.Go(func() {
				_, _ = p.Do(context.Background(), func(ctx context.Context) (int, error) {
					time.Sleep(20 * time.Millisecond)
					switch at := time.Since(start); {
					case at < Begins || at >= Ends:
						return 1, nil
					case p == hangs:
						<-ctx.Done()
						return 0, ctx.Err()
					}
					return 0, Down{}
				})
			})
		}
	}
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
