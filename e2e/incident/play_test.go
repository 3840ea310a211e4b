package incident

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/telltale-go/telltale/e2e/promql"
	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/promres"
	"github.com/telltale-go/telltale/resilience"
)

// The incident: the database answers nothing but errors from the third minute to the sixth.
const (
	begins, ends, whole = 3 * time.Minute, 6 * time.Minute, 10 * time.Minute
	perSecond           = 10 // calls of each pipeline
)

// outage is the error of the database while it is down.
type outage struct{}

func (outage) Error() string     { return "the database is down" }
func (outage) ErrorType() string { return "database_down" }

// story is what happened, told by the events themselves, and the scrapes of it.
type story struct {
	start       time.Time
	scrapes     []promql.Scrape
	transitions []events.BreakerStateChanged
	executions  []events.ExecutionFinished
	attempts    []events.AttemptFinished
}

// play plays the incident, scraped at every interval.
func play(t *testing.T, every time.Duration) *story {
	s := new(story)
	synctest.Test(t, func(t *testing.T) {
		s.start = time.Now()
		bus, registry := events.NewBus(), prometheus.NewRegistry()
		defer promres.MustAttach(bus, promres.Config{Registerer: registry})()
		s.listen(bus)
		pipelines := pipelines(bus)
		stop := make(chan struct{})
		var load sync.WaitGroup
		load.Go(func() { generate(s.start, pipelines, stop) })
		handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
		for time.Since(s.start) < whole {
			time.Sleep(every)
			scrape, err := promql.Take(handler)
			if err != nil {
				t.Fatal(err)
			}
			s.scrapes = append(s.scrapes, scrape)
		}
		close(stop)
		load.Wait()
		runtime.KeepAlive(pipelines)
	})
	return s
}

func (s *story) listen(bus *events.Bus) {
	var mu sync.Mutex
	bus.BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) {
		mu.Lock()
		defer mu.Unlock()
		s.transitions = append(s.transitions, e)
	})
	bus.Execution.Observe(func(ctx context.Context, _ events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
		return ctx, func(e events.ExecutionFinished) {
			mu.Lock()
			defer mu.Unlock()
			s.executions = append(s.executions, e)
		}
	})
	bus.Attempt.Observe(func(ctx context.Context, _ events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
		return ctx, func(e events.AttemptFinished) {
			mu.Lock()
			defer mu.Unlock()
			s.attempts = append(s.attempts, e)
		}
	})
}

// pipelines share the breaker of their database and a budget of retries.
func pipelines(bus *events.Bus) []*resilience.Pipeline[int] {
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "orders-db", FailureRatio: 0.5, MinCalls: 20, Cooldown: 20 * time.Second, Bus: bus})
	pool := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", MaxConcurrent: 50, Bus: bus})
	build := func(name string, layers ...resilience.Layer) *resilience.Pipeline[int] {
		return resilience.MustPipeline(resilience.PipelineConfig[int]{Name: name, Bus: bus, Layers: layers})
	}
	return []*resilience.Pipeline[int]{
		build("orders.create", pool, resilience.Timeout{Name: "total", After: 3 * time.Second},
			resilience.Retry{Backoff: resilience.Exponential{Base: 50 * time.Millisecond}}, db,
			resilience.Timeout{Name: "attempt", After: 500 * time.Millisecond}),
		build("orders.get", resilience.Timeout{After: time.Second}, db),
	}
}

// generate calls every pipeline perSecond times a second, until stop.
func generate(start time.Time, pipelines []*resilience.Pipeline[int], stop <-chan struct{}) {
	var calls sync.WaitGroup
	defer calls.Wait()
	ticker := time.NewTicker(time.Second / perSecond)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		for _, p := range pipelines {
			calls.Go(func() {
				_, _ = p.Do(context.Background(), func(context.Context) (int, error) {
					time.Sleep(20 * time.Millisecond)
					if at := time.Since(start); at >= begins && at < ends {
						return 0, outage{}
					}
					return 1, nil
				})
			})
		}
	}
}

// entered lists when the breaker entered a state, with the reason.
func (s *story) entered(state events.State) (all []events.BreakerStateChanged) {
	return slices.DeleteFunc(slices.Clone(s.transitions), func(e events.BreakerStateChanged) bool { return e.To != state })
}

// executed counts calls of a pipeline that ended between two moments of the story; outcome 0 counts all.
func (s *story) executed(pipeline string, outcome events.Outcome, from, to time.Duration) (n float64) {
	for _, e := range s.executions {
		at := e.At.Sub(s.start)
		if e.Source.Pipeline() == pipeline && (outcome == 0 || e.Outcome == outcome) && at > from && at <= to {
			n++
		}
	}
	return n
}

// attempted counts runs of the operation likewise.
func (s *story) attempted(pipeline string, from, to time.Duration) (n float64) {
	for _, e := range s.attempts {
		if at := e.At.Sub(s.start); e.Source.Pipeline() == pipeline && at > from && at <= to {
			n++
		}
	}
	return n
}
