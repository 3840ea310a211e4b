package promres

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
)

// PROM-02, PROM-03: pipelines of few names come, work and go while others scrape; nothing is gathered twice, nothing is
// lost, and nothing is left.
func TestSourcesComeAndGoUnderScrapes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{})
		first := r.pipeline("users-0", events.TypeRetry)
		var done atomic.Bool
		var workers, scrapers sync.WaitGroup
		for range 2 {
			scrapers.Go(func() {
				for !done.Load() {
					r.scrape()
				}
			})
		}
		for w := range 4 {
			workers.Go(func() {
				for i := range 150 {
					r.comeAndGo(fmt.Sprintf("users-%d", (w+i)%3), fmt.Sprint(i%20))
				}
			})
		}
		workers.Wait()
		done.Store(true)
		scrapers.Wait()
		synctest.Wait() // who removes a source may leave the telling to another goroutine
		r.want(map[string]float64{
			`executions_total{outcome="success",pipeline_name="users-0"}`:                4 * 150 / 3,
			`execution_active{pipeline_name="users-0"}`:                                  0,
			`executions_total{outcome="success",pipeline_name="users-1"}`:                -1,
			`circuit_breaker_state{circuit_breaker_state="closed",layer_name="users-0"}`: -1,
		})
		r.bus.Remove(first)
		if left := ofSources(r.scrape()); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
		if n := r.bus.HandlerPanics(); n != 0 {
			t.Errorf("%d handlers panicked", n)
		}
	})
}

// comeAndGo is the life of a pipeline and a breaker.
func (r *rig) comeAndGo(name, errorType string) {
	p := r.pipeline(name, events.TypeRetry, events.TypeTimeout, events.TypeBulkhead)
	b := r.breaker(name)
	b.set(func(b *events.BreakerReading) { b.Spent[events.StateClosed] = time.Second })
	call(r.bus, p, events.ExecutionFinished{Outcome: events.OutcomeSuccess, Duration: 1, Backoff: 1},
		failed(events.AttemptInitial, 1, classed(errorType)), succeeded(events.AttemptRetry, 1))
	r.bus.BreakerStateChanged.Publish(r.t.Context(), events.BreakerStateChanged{Meta: events.Meta{Source: b.source}, To: events.StateOpen, Reason: events.ReasonRatio})
	r.bus.Remove(p)
	r.bus.Remove(b.source)
}

// PROM-03
func TestDetachUnderLoad(t *testing.T) {
	r := newRig(t, Config{})
	p := r.pipeline("users", events.TypeRetry)
	var done atomic.Bool
	var load sync.WaitGroup
	for w := range 4 {
		load.Go(func() {
			for i := 0; !done.Load(); i++ {
				call(r.bus, p, events.ExecutionFinished{Outcome: events.Outcome(1 + (w+i)%5)}, failed(events.AttemptInitial, 1, classed(fmt.Sprint(i))))
				if i%50 == 0 {
					other := r.pipeline("other")
					r.bus.Remove(other)
				}
			}
		})
	}
	load.Go(func() {
		for !done.Load() {
			r.scrape()
		}
	})
	detach := r.detach
	for range 25 {
		var both sync.WaitGroup
		for range 2 {
			both.Go(detach)
		}
		both.Wait()
		if left := r.scrape(); len(left) != 0 {
			t.Errorf("left in the registry: %d series", len(left))
		}
		var err error
		if detach, err = Attach(r.bus, Config{Registerer: r.reg}); err != nil {
			t.Fatal(err)
		}
	}
	detach()
	done.Store(true)
	load.Wait()
	mustBeEmpty(t, r.reg)
	if n := r.bus.HandlerPanics(); n != 0 {
		t.Errorf("%d handlers panicked", n)
	}
}

// Whoever loses the race for a registry leaves nothing behind.
func TestAttachRaces(t *testing.T) {
	bus, reg := events.NewBus(), prometheus.NewRegistry()
	var won atomic.Int64
	var detaches sync.Map
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if detach, err := Attach(bus, Config{Registerer: reg}); err == nil {
				won.Add(1)
				detaches.Store(i, detach)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 16 attached, want 1", won.Load())
	}
	detaches.Range(func(_, detach any) bool { detach.(func())(); return true })
	if bus.CallsHeard() {
		t.Error("subscriptions are left on the bus")
	}
	mustBeEmpty(t, reg)
}
