package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// chaos makes one that is enabled, and disturbs every call unless it is told otherwise.
func chaos(cfg resilience.ChaosConfig) *resilience.Chaos {
	cfg.Name, cfg.Enabled, cfg.Bus = "drill", true, events.Off()
	if cfg.Rate == 0 {
		cfg.Rate = 1
	}
	return resilience.MustChaos(cfg)
}

func TestChaosIsOffUnlessEnabled(t *testing.T) {
	bus := events.NewBus()
	told := record(bus)
	c := resilience.MustChaos(resilience.ChaosConfig{Name: "drill", Rate: 1, Err: errBoom, Bus: bus})
	p := ints(bus, c)
	for i, enabled := range []bool{false, true, false, true} {
		if enabled {
			c.Enable()
		} else {
			c.Disable()
		}
		err := p.Run(t.Context(), succeed)
		if errors.Is(err, errBoom) != enabled || c.Enabled() != enabled || strings.HasSuffix(c.String(), "(enabled)") != enabled {
			t.Errorf("step %d: %v, want a fault: %v; it is %s", i, err, enabled, c)
		}
	}
	if n := len(heard[events.FaultInjected](told)); n != 2 || c.Name() != "drill" {
		t.Errorf("%d faults told, want 2", n)
	}
}

// Every fault is published, and what is outside sees it as the operation's; the operation does not run.
func TestChaosInjectsEachFault(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  resilience.ChaosConfig
		want func(v int, err error, panicked any) bool
		told events.FaultInjected
	}{
		"an error":          {resilience.ChaosConfig{Err: errBoom}, func(v int, err error, _ any) bool { return err == errBoom && v == 0 }, events.FaultInjected{Fault: events.FaultError, Err: errBoom}},
		"a value":           {resilience.ChaosConfig{Value: 503}, func(v int, err error, _ any) bool { return err == nil && v == 503 }, events.FaultInjected{Fault: events.FaultValue}},
		"a value made anew": {resilience.ChaosConfig{Value: func() int { return 504 }}, func(v int, err error, _ any) bool { return err == nil && v == 504 }, events.FaultInjected{Fault: events.FaultValue}},
		"a panic":           {resilience.ChaosConfig{Panic: "oh"}, func(_ int, _ error, p any) bool { return p == "oh" }, events.FaultInjected{Fault: events.FaultPanic}},
	} {
		bus := events.NewBus()
		told := record(bus)
		p := ints(bus, chaos(c.cfg))
		ran := false
		var v int
		var err error
		panicked, _ := survive(func() {
			v, err = p.DoKey(t.Context(), "key", func(context.Context) (int, error) { ran = true; return 1, nil })
		})
		if !c.want(v, err, panicked) || ran {
			t.Errorf("%s: got %v, %v, panic %v; the operation ran: %v", name, v, err, panicked, ran)
		}
		e := heard[events.FaultInjected](told)
		if len(e) != 1 || e[0].Fault != c.told.Fault || e[0].Err != c.told.Err || e[0].Key != "key" || e[0].Source.Pipeline() != "ints" || e[0].Source.Layer() != "drill" {
			t.Errorf("%s: told %+v", name, e)
		}
		if f := heard[events.ExecutionFinished](told); len(f) != 1 || f[0].Attempts != 0 {
			t.Errorf("%s: %+v, want no attempt", name, f)
		}
	}
}

// The layers outside treat a fault as the dependency's failure, and the call's end names the chaos.
func TestWhatIsOutsideOfAChaosSeesTheFault(t *testing.T) {
	bus := events.NewBus()
	told := record(bus)
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 2, Bus: bus})
	c := chaos(resilience.ChaosConfig{Err: errBoom})
	p := ints(bus, db, c)
	for range 2 {
		_ = p.Run(t.Context(), succeed)
	}
	if db.State() != events.StateOpen {
		t.Error("the breaker did not count the faults")
	}
	for _, e := range heard[events.ExecutionFinished](told) {
		if e.Outcome != events.OutcomeFailure || e.Layer == nil || e.Layer.Layer() != "drill" {
			t.Errorf("the end is told as %v by %v", e.Outcome, e.Layer)
		}
	}
	scheduled := ints(bus, resilience.Retry{Backoff: resilience.NoDelay}, chaos(resilience.ChaosConfig{Err: errBoom}))
	_ = scheduled.Run(t.Context(), succeed)
	if n := len(heard[events.RetryScheduled](told)); n != 2 {
		t.Errorf("%d retries, want 2", n)
	}
}

// Classify judges a fault as it judges what the operation returns.
func TestClassifyJudgesTheFaults(t *testing.T) {
	p := func(c *resilience.Chaos) *resilience.Pipeline[int] {
		return resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.Off(), Classify: func(v int, err error) error {
			if v == 503 {
				return errBoom
			}
			if err == errBoom {
				return resilience.NoFailure
			}
			return nil
		}, Layers: []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay, MaxAttempts: 2}, c}})
	}
	values, errs := 0, 0
	value := chaos(resilience.ChaosConfig{Value: func() int { values++; return 503 }})
	if v, err := p(value).Do(t.Context(), one); v != 503 || err != nil || values != 2 {
		t.Errorf("a failing value: %v, %v after %d", v, err, values)
	}
	e := chaos(resilience.ChaosConfig{Err: errBoom, If: func(context.Context, resilience.Call) bool { errs++; return true }})
	if _, err := p(e).Do(t.Context(), one); err != errBoom || errs != 1 {
		t.Errorf("an error that is no failure: %v after %d", err, errs)
	}
	if err := p(value).Run(t.Context(), fail); err != nil {
		t.Errorf("Run has no value, got %v", err)
	}
}

func TestRecoverPanicsRecoversAnInjectedPanic(t *testing.T) {
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.Off(), RecoverPanics: true,
		Layers: []resilience.Layer{chaos(resilience.ChaosConfig{Panic: "oh"})}})
	var panicked *resilience.PanicError
	if err := p.Run(t.Context(), succeed); !errors.As(err, &panicked) || panicked.Value != "oh" || len(panicked.Stack) == 0 {
		t.Errorf("got %v", err)
	}
}

func TestChaosDelaysWhileTheContextLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		told := record(bus)
		began := time.Now()
		p := ints(bus, resilience.Timeout{After: 3 * time.Second}, chaos(resilience.ChaosConfig{Latency: 2 * time.Second}))
		if v, err := p.Do(t.Context(), one); v != 1 || err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("%v, %v after %v", v, err, time.Since(began))
		}
		began = time.Now()
		slow := ints(bus, resilience.Timeout{After: time.Second}, chaos(resilience.ChaosConfig{Latency: time.Minute, Err: errBoom}))
		if err := slow.Run(t.Context(), succeed); !errors.Is(err, resilience.ErrTimeout) || errors.Is(err, errBoom) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began = time.Now()
		if err := slow.Run(ctx, succeed); resilience.KindOf(err) == resilience.KindOK || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		e := heard[events.FaultInjected](told)
		if len(e) != 3 || e[0].Fault != events.FaultLatency || e[0].Delay != 2*time.Second {
			t.Errorf("told %+v", e)
		}
	})
}

// What the n-th call meets depends on the seed and n alone, also under contention.
func TestChaosIsRepeatable(t *testing.T) {
	draws := func(seed uint64, goroutines int) (faults int, delays map[time.Duration]int) {
		bus := events.NewBus()
		var mu sync.Mutex
		delays = map[time.Duration]int{}
		bus.FaultInjected.Subscribe(func(_ context.Context, e events.FaultInjected) {
			mu.Lock()
			defer mu.Unlock()
			delays[e.Delay]++
		})
		p := ints(bus, chaos(resilience.ChaosConfig{Rate: 0.3, Latency: 1, MaxLatency: 1000, Seed: seed}))
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for range 2000 / goroutines {
					_ = p.Run(context.Background(), succeed)
				}
			})
		}
		wg.Wait()
		for d, n := range delays {
			if faults += n; d < 1 || d > 1000 {
				t.Errorf("a delay of %v is out of range", d)
			}
		}
		return faults, delays
	}
	n, delays := draws(7, 1)
	for _, goroutines := range []int{1, 8} {
		if m, again := draws(7, goroutines); m != n || fmt.Sprint(again) != fmt.Sprint(delays) {
			t.Errorf("%d goroutines: %d faults, then %d; the delays are the same: %v", goroutines, n, m, fmt.Sprint(again) == fmt.Sprint(delays))
		}
	}
	if math.Abs(float64(n)-600) > 100 || len(delays) < 300 {
		t.Errorf("%d of 2000 disturbed, want about 600; %d different delays", n, len(delays))
	}
	if _, others := draws(8, 1); fmt.Sprint(others) == fmt.Sprint(delays) {
		t.Error("another seed, the same delays")
	}
}

func TestChaosDisturbsTheSelectedCallsAlone(t *testing.T) {
	bus := events.NewBus()
	told := record(bus)
	keys := []string{"a", "b"}
	c := chaos(resilience.ChaosConfig{Err: errBoom, Keys: keys, If: func(_ context.Context, call resilience.Call) bool {
		if call.Attempt() == 3 {
			panic("no")
		}
		return call.Attempt() > 1
	}})
	keys[0] = "c"
	p := ints(bus, resilience.Retry{MaxAttempts: 3, Backoff: resilience.NoDelay}, c)
	for key, want := range map[string]int{"a": 3, "b": 3, "c": 1, "": 1} {
		op := failing{n: -1}
		if key != "a" && key != "b" {
			op.n = 0
		}
		_ = p.RunKey(t.Context(), key, op.run)
		if runs := op.runs; runs != want-map[bool]int{true: 1}[want == 3] { // the second attempt met the fault
			t.Errorf("%q: the operation ran %d times", key, runs)
		}
	}
	if n, panics := len(heard[events.FaultInjected](told)), heard[events.CallbackPanicked](told); n != 2 || len(panics) != 2 || panics[0].Callback != "ChaosConfig.If" {
		t.Errorf("%d faults, panics %+v", n, panics)
	}
}
