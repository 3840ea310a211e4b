package otelres_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
)

// Sources with equal names share series: what adds up is added, of the rest the greatest is told, and no series is told
// twice.
func TestSourcesWithEqualNamesShareSeries(t *testing.T) {
	var duplicates int
	r := newRig(t, func(c *otelres.Config) { c.MeterProvider = uniqueMeters{c.MeterProvider, &duplicates} })
	since := time.Unix(1000, 0)
	r.breaker("db", func() events.BreakerReading {
		return events.BreakerReading{State: events.StateOpen, Since: since, NextProbe: since.Add(time.Minute), Calls: 10, FailureRatio: .75, Limit: .5, Cooldown: time.Minute}
	})
	r.breaker("db", func() events.BreakerReading {
		return events.BreakerReading{State: events.StateClosed, Since: since.Add(time.Second), Calls: 5, FailureRatio: .25, Limit: .5}
	})
	for range 2 {
		r.source(events.SourceSpec{Layer: "pool", Type: events.TypeBulkhead,
			Limiter: func() events.LimiterReading { return events.LimiterReading{Limit: 10, Usage: 4, Queued: 1} }})
	}
	one, two := r.pipeline("users.get", events.TypeRetry), r.pipeline("users.get", events.TypeRetry)
	r.execution(context.Background(), one, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(ctx context.Context) {
		r.execution(context.Background(), two, events.ExecutionFinished{Outcome: events.OutcomeSuccess}, func(context.Context) {
			db := []string{"resilience.layer.name", "db"}
			pool := []string{"resilience.layer.name", "pool"}
			for _, c := range []struct {
				name string
				of   []string
				want float64
			}{
				{"resilience.circuit_breaker.state", append(db, "resilience.circuit_breaker.state", "open"), 1},
				{"resilience.circuit_breaker.state", append(db, "resilience.circuit_breaker.state", "closed"), 1},
				{"resilience.circuit_breaker.state", append(db, "resilience.circuit_breaker.state", "half_open"), 0},
				{"resilience.circuit_breaker.state_change.time", db, 1001},
				{"resilience.circuit_breaker.next_probe.time", db, 1060},
				{"resilience.circuit_breaker.window.calls", db, 15},
				{"resilience.circuit_breaker.failure.ratio", db, .75},
				{"resilience.circuit_breaker.failure.ratio.limit", db, .5},
				{"resilience.circuit_breaker.cooldown", db, 60},
				{"resilience.limiter.limit", pool, 20},
				{"resilience.limiter.usage", pool, 8},
				{"resilience.limiter.queued", pool, 2},
				{"resilience.execution.active", []string{"resilience.pipeline.name", "users.get"}, 2},
			} {
				if got := r.value(c.name, c.of...); got != c.want {
					t.Errorf("%s{%v} = %v, want %v", c.name, c.of, got, c.want)
				}
			}
		})
	})
	if got := seriesOf(r.collect()["resilience.layer.info"]); len(got) != 1 {
		t.Errorf("layer.info = %v, want one series", got)
	}
	if duplicates != 0 {
		t.Errorf("%d observations repeat a series of the same collection", duplicates)
	}
}

// The time in a state never falls while a breaker of its name lives, and starts anew with the first of the next.
func TestTimeInStateNeverFallsWhenABreakerOfTheSameNameGoes(t *testing.T) {
	r := newRig(t)
	reading := func(open time.Duration) func() events.BreakerReading {
		return func() events.BreakerReading {
			b := events.BreakerReading{State: events.StateClosed}
			b.Spent[events.StateOpen] = open
			return b
		}
	}
	open := func() float64 {
		return r.value("resilience.circuit_breaker.state.time", "resilience.layer.name", "db", "resilience.circuit_breaker.state", "open")
	}
	old := r.breaker("db", reading(time.Hour))
	young := r.breaker("db", reading(time.Second))
	if got := open(); got != 3601 {
		t.Errorf("open for %v s, want 3601", got)
	}
	r.bus.Remove(old)
	if got := open(); got != 3601 {
		t.Errorf("open for %v s after one has gone, want 3601 still", got)
	}
	third := r.breaker("db", reading(2*time.Second))
	if got := open(); got != 3603 {
		t.Errorf("open for %v s with a third, want 3603", got)
	}
	r.bus.Remove(young)
	r.bus.Remove(third)
	r.breaker("db", reading(5*time.Second))
	if got := open(); got != 5 {
		t.Errorf("open for %v s after all have gone, want the 5 of the next", got)
	}
}

// PROM-01: gauges leave with their source, synchronous series stay.
func TestReadingsLeaveWithTheirSource(t *testing.T) {
	r := newRig(t)
	users := r.pipeline("users.get", events.TypeTimeout)
	db := r.breaker("db", func() events.BreakerReading { return events.BreakerReading{State: events.StateOpen} })
	r.succeed(context.Background(), users)
	r.collect()
	r.bus.Remove(users)
	r.bus.Remove(db)
	r.succeed(context.Background(), users) // of a source that is gone: ignored
	all := r.collect()
	for _, name := range []string{"resilience.execution.active", "resilience.layer.info", "resilience.circuit_breaker.state", "resilience.circuit_breaker.state.time"} {
		if got := seriesOf(all[name]); len(got) != 0 {
			t.Errorf("%s = %v, want nothing", name, got)
		}
	}
	if got := r.value("resilience.executions", "resilience.pipeline.name", "users.get", "resilience.outcome", "success"); got != 1 {
		t.Errorf("executions = %v, want 1", got)
	}
}

// BUS-10: the adapter does not keep alive what nobody uses any more.
func TestDroppedSourcesAreCollected(t *testing.T) {
	r := newRig(t)
	func() {
		s := r.bus.NewSource(pipelineSpec("dropped", events.TypeRetry))
		db := r.bus.NewSource(events.SourceSpec{Layer: "dropped-db", Type: events.TypeBreaker,
			Breaker: func() events.BreakerReading { return events.BreakerReading{} }})
		r.succeed(context.Background(), s)
		r.collect()
		runtime.KeepAlive(s)
		runtime.KeepAlive(db)
	}()
	for range 1000 {
		if len(r.bus.Sources()) == 0 {
			return
		}
		runtime.GC()
		runtime.Gosched()
	}
	t.Errorf("still alive: %d sources", len(r.bus.Sources()))
}
