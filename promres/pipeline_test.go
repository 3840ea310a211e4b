package promres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// tally counts what the bus says, apart from promres, under the names of the series.
type tally struct {
	mu     sync.Mutex
	counts map[string]float64
}

func (c *tally) add(n float64, format string, args ...any) {
	c.counts[fmt.Sprintf(format, args...)] += n
}

func (c *tally) hear(_ context.Context, e events.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := e.Header().Source
	switch e := e.(type) {
	case events.ExecutionFinished:
		c.add(1, `executions_total{outcome=%q,pipeline_name=%q}`, e.Outcome, s.Pipeline())
		c.add(1, `execution_duration_seconds{outcome=%q,pipeline_name=%q}`, e.Outcome, s.Pipeline())
		c.add(1, `execution_attempts{outcome=%q,pipeline_name=%q}`, e.Outcome, s.Pipeline())
		c.add(e.Backoff.Seconds(), `execution_wait_time_seconds_total{pipeline_name=%q,wait_kind="backoff"}`, s.Pipeline())
		c.add(e.Queued.Seconds(), `execution_wait_time_seconds_total{pipeline_name=%q,wait_kind="queue"}`, s.Pipeline())
	case events.AttemptFinished:
		c.add(1, `attempts_total{attempt_kind=%q,outcome=%q,pipeline_name=%q}`, e.Kind, e.Outcome, s.Pipeline())
		c.add(1, `attempt_duration_seconds{outcome=%q,pipeline_name=%q}`, e.Outcome, s.Pipeline())
		if e.Outcome != events.OutcomeSuccess && e.Outcome != events.OutcomeCanceled {
			c.add(1, `attempt_failures_total{error_type=%q,pipeline_name=%q}`, events.ErrorType(e.Err), s.Pipeline())
		}
	case events.RetryStopped:
		c.add(1, `retry_stops_total{pipeline_name=%q,reason=%q}`, s.Pipeline(), e.Reason)
	case events.CallRejected:
		c.add(1, `rejections_total{layer_name=%q,pipeline_name=%q,reason=%q}`, s.Layer(), s.Pipeline(), e.Reason)
	case events.TimedOut:
		c.add(1, `timeouts_total{layer_name=%q,pipeline_name=%q}`, s.Layer(), s.Pipeline())
	case events.BreakerStateChanged:
		c.add(1, `circuit_breaker_transitions_total{circuit_breaker_state=%q,layer_name=%q,reason=%q}`, e.To, s.Layer(), e.Reason)
	}
}

// counted are the metrics that come from events.
var counted = []string{"executions_total", "execution_duration_seconds", "execution_attempts", "execution_wait_time_seconds_total",
	"attempts_total", "attempt_duration_seconds", "attempt_failures_total", "retry_stops_total", "rejections_total", "timeouts_total",
	"circuit_breaker_transitions_total"}

// PROM-04: in random runs of real pipelines every counter is the number of its events, and none has another series.
func TestCountersAgreeWithTheEvents(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) { agree(t, seed, seen) })
	}
	for _, metric := range counted {
		if !seen[metric] {
			t.Errorf("no run moved %s: the runs do not prove enough", metric)
		}
	}
}

func agree(t *testing.T, seed uint64, seen map[string]bool) {
	r := newRig(t, Config{})
	heard := &tally{counts: map[string]float64{}}
	defer r.bus.Subscribe(heard.hear)()
	random := rand.New(rand.NewPCG(seed, 7))
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 3, Cooldown: time.Second, Bus: r.bus})
	pool := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", MaxConcurrent: 3, MaxQueue: 2, MaxWait: 200 * time.Millisecond, Bus: r.bus})
	users := randomPipeline(r.bus, "users", pool, db)
	orders := randomPipeline(r.bus, "orders", db)
	var calls sync.WaitGroup
	for range 60 {
		p, key := users, random.Uint64()
		if random.IntN(3) == 0 {
			p = orders
		}
		calls.Go(func() { randomCall(p, rand.New(rand.NewPCG(seed, key))) })
		time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
	}
	calls.Wait()
	db.ForceOpen()
	_, _ = users.Do(t.Context(), func(context.Context) (int, error) { return 0, nil })
	db.Reset()

	got := r.scrape()
	for name, want := range heard.counts {
		if v, ok := got[name]; (want != 0 || ok) && !near(v, want) {
			t.Errorf("seed %d: %s = %v, the events say %v", seed, name, v, want)
		}
		seen[name[:strings.IndexByte(name, '{')]] = true
	}
	for name, v := range got {
		metric := name[:strings.IndexByte(name, '{')]
		for _, c := range counted {
			if _, ok := heard.counts[name]; metric == c && v != 0 && !ok {
				t.Errorf("seed %d: %s = %v, and no event says so", seed, name, v)
			}
		}
		if metric == "execution_active" && v != 0 {
			t.Errorf("seed %d: %s = %v after the last call", seed, name, v)
		}
	}
	if n := r.bus.HandlerPanics(); n != 0 {
		t.Errorf("%d handlers panicked", n)
	}
	runtime.KeepAlive(users)
	runtime.KeepAlive(orders)
}

func near(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }

func randomPipeline(bus *events.Bus, name string, gates ...resilience.Layer) *resilience.Pipeline[int] {
	layers := append(append([]resilience.Layer{}, gates[:len(gates)-1]...),
		resilience.Timeout{Name: "total", After: 800 * time.Millisecond},
		resilience.Retry{MaxAttempts: 3, Backoff: resilience.Constant(50 * time.Millisecond)},
		gates[len(gates)-1],
		resilience.Timeout{Name: "each", After: 120 * time.Millisecond})
	return resilience.MustPipeline(resilience.PipelineConfig[int]{Name: name, Layers: layers, Bus: bus, RecoverPanics: true,
		Classify: func(v int, err error) error {
			if v < 0 {
				return errBoom
			}
			return err
		}})
}

// randomCall ends in one of the ways in which calls end.
func randomCall(p *resilience.Pipeline[int], random *rand.Rand) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if random.IntN(6) == 0 {
		time.AfterFunc(time.Duration(random.IntN(150))*time.Millisecond, cancel)
	}
	_, _ = p.Do(ctx, func(ctx context.Context) (int, error) {
		select {
		case <-time.After(time.Duration(random.IntN(150)) * time.Millisecond):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		switch random.IntN(8) {
		case 0:
			return 0, errors.New("plain")
		case 1:
			return 0, io.ErrUnexpectedEOF
		case 2:
			return -1, nil
		case 3:
			return 0, resilience.Permanent(classed("final"))
		case 4:
			panic("boom")
		}
		return 1, nil
	})
}

// PROM-01: a scrape shows the state after each transition of a real breaker, and half-open as soon as the cooldown has
// passed.
func TestStateFollowsARealBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{})
		db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 2, Cooldown: time.Second, Bus: r.bus})
		fail := func() { _ = db.Run(t.Context(), func(context.Context) error { return errBoom }) }
		succeed := func() { _ = db.Run(t.Context(), func(context.Context) error { return nil }) }
		const entered = `circuit_breaker_transitions_total{circuit_breaker_state=%q,layer_name="db",reason=%q}`
		in := func(step string, state events.State) {
			t.Helper()
			got := r.scrape()
			for _, other := range events.States() {
				want := 0.0
				if other == state {
					want = 1
				}
				if v := got[fmt.Sprintf(`circuit_breaker_state{circuit_breaker_state=%q,layer_name="db"}`, other)]; v != want {
					t.Errorf("%s: %s is %v, want %v", step, other, v, want)
				}
			}
		}
		in("new", events.StateClosed)
		fail()
		fail()
		in("two failures", events.StateOpen)
		time.Sleep(time.Second)
		in("cooldown over", events.StateHalfOpen)
		fail()
		in("failed probe", events.StateOpen)
		time.Sleep(time.Second)
		succeed()
		in("probe succeeded", events.StateClosed)
		db.ForceOpen()
		in("forced open", events.StateForcedOpen)
		time.Sleep(time.Hour)
		in("forced open for an hour", events.StateForcedOpen)
		db.Reset()
		in("reset", events.StateClosed)
		r.want(map[string]float64{
			fmt.Sprintf(entered, events.StateOpen, events.ReasonConsecutive):                                1,
			fmt.Sprintf(entered, events.StateOpen, events.ReasonProbeFailed):                                1,
			fmt.Sprintf(entered, events.StateHalfOpen, events.ReasonCooldown):                               2,
			fmt.Sprintf(entered, events.StateClosed, events.ReasonProbesOK):                                 1,
			fmt.Sprintf(entered, events.StateForcedOpen, events.ReasonManual):                               1,
			fmt.Sprintf(entered, events.StateClosed, events.ReasonManual):                                   1,
			`circuit_breaker_state_time_seconds_total{circuit_breaker_state="forced_open",layer_name="db"}`: 3600,
			`circuit_breaker_state_time_seconds_total{circuit_breaker_state="half_open",layer_name="db"}`:   0,
		})
		spent := r.scrape()
		runtime.KeepAlive(db)
		sum := spent[`circuit_breaker_state_time_seconds_total{circuit_breaker_state="open",layer_name="db"}`] +
			spent[`circuit_breaker_state_time_seconds_total{circuit_breaker_state="closed",layer_name="db"}`]
		if !near(sum, 2) {
			t.Errorf("open and closed for %v s, want 2", sum)
		}
	})
}

// BUS-08: a call that panics, or ends its goroutine, is counted like any other and is active no more.
func TestCallsThatDoNotReturnAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{})
		users := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "users", Layers: []resilience.Layer{resilience.Retry{}}, Bus: r.bus})
		var calls sync.WaitGroup
		for _, end := range []func(){func() { panic("boom") }, runtime.Goexit} {
			calls.Go(func() {
				defer func() { _ = recover() }()
				_, _ = users.Do(t.Context(), func(context.Context) (int, error) { end(); return 0, nil })
			})
		}
		calls.Wait()
		r.want(map[string]float64{
			`execution_active{pipeline_name="users"}`:                                        0,
			`executions_total{outcome="failure",pipeline_name="users"}`:                      2,
			`attempts_total{attempt_kind="initial",outcome="failure",pipeline_name="users"}`: 2,
			`execution_attempts{outcome="failure",pipeline_name="users"}`:                    2,
		})
		runtime.KeepAlive(users)
	})
}

// PROM-01: a pipeline that is closed takes its series along; the breaker that it shares stays.
func TestClosedPipelineLeavesTheMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{})
		db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Bus: r.bus})
		users := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "users", Layers: []resilience.Layer{resilience.Retry{}, db}, Bus: r.bus})
		r.want(map[string]float64{`executions_total{outcome="success",pipeline_name="users"}`: 0})
		if err := users.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.want(map[string]float64{
			`executions_total{outcome="success",pipeline_name="users"}`:             -1,
			`circuit_breaker_state{circuit_breaker_state="closed",layer_name="db"}`: 1,
		})
		runtime.KeepAlive(db)
	})
}
