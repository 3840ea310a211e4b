package resilience

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
)

// BRK-10, BRK-18: successes that take no lock are all counted, once, whoever else counts, reads and commands meanwhile.
func TestSuccessesWithoutTheLockAreAllCounted(t *testing.T) {
	for _, cfg := range []BreakerConfig{
		{FailureRatio: 1, Window: time.Hour}, {FailureRatio: 1, WindowCalls: maxWindowCalls},
		{FailureRatio: 1, MinCalls: 1, Window: time.Hour}, {SlowCall: time.Hour, SlowRatio: 1, Window: time.Hour},
	} {
		cfg.Name, cfg.Bus = "db", events.Off()
		b := MustBreaker(cfg)
		const workers, each = 8, 5000
		_ = b.Run(context.Background(), func(context.Context) error { return nil })
		var failures atomic.Int64
		var wg sync.WaitGroup
		for i := range workers {
			wg.Go(func() {
				for n := range each {
					end := error(nil)
					if i == 0 && n%7 == 0 {
						end = errors.New("boom")
						failures.Add(1)
					}
					if err := b.Run(context.Background(), func(context.Context) error { return end }); err != end {
						t.Errorf("call: %v", err)
						return
					}
					if n%500 == 0 {
						if s := b.Snapshot(); s.Calls > workers*each+1 || s.Failures > s.Calls || s.State != events.StateClosed {
							t.Errorf("read %+v", s)
						}
					}
				}
			})
		}
		wg.Wait()
		if s := b.Snapshot(); s.Calls != workers*each+1 || s.Failures != failures.Load() {
			t.Errorf("%s: %d calls, %d failures; want %d and %d", b.machine.rules, s.Calls, s.Failures, workers*each+1, failures.Load())
		}
	}
}

// BRK-02: what the fast word has no room for is told to the machine.
func TestFastWordTakesNoMoreThanItHasRoomFor(t *testing.T) {
	b := MustBreaker(BreakerConfig{Name: "db", FailureRatio: 1, WindowCalls: 10, Bus: events.Off()})
	b.fast.Store(b.fast.Load() | fastUntold)
	gen := b.machine.gen
	for range 3 {
		_ = b.Run(context.Background(), func(context.Context) error { return nil })
	}
	if s := b.Snapshot(); s.Calls != 10 || b.machine.gen != gen || b.State() != events.StateClosed {
		t.Errorf("%+v", s)
	}
}

// BRK-02: a success without the lock counts in its own cell, and is forgotten with it.
func TestSuccessesWithoutTheLockAreForgottenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := MustBreaker(BreakerConfig{Name: "db", FailureRatio: 1, Window: 10 * time.Second, Bus: events.Off()})
		for range 100 {
			for range 10 {
				_ = b.Run(t.Context(), func(context.Context) error { return nil })
			}
			time.Sleep(time.Second)
		}
		if s := b.Snapshot(); s.Calls != 90 {
			t.Errorf("%d calls of the last nine seconds, want 90", s.Calls)
		}
		time.Sleep(9 * time.Second)
		if s := b.Snapshot(); s.Calls != 0 {
			t.Errorf("%d calls, want none", s.Calls)
		}
	})
}

// BRK-18, PITFALL 6: in every mode, several goroutines that call, fail, hang, read and command: no state that the model
// forbids, no more probes at once than allowed, the numbers without gaps, each transition from where the last led.
func TestNoScheduleShowsAForbiddenState(t *testing.T) {
	allowed := map[events.Transition][]events.State{
		{To: events.StateOpen, Reason: events.ReasonRatio}:        {events.StateClosed},
		{To: events.StateOpen, Reason: events.ReasonConsecutive}:  {events.StateClosed},
		{To: events.StateOpen, Reason: events.ReasonSlow}:         {events.StateClosed},
		{To: events.StateOpen, Reason: events.ReasonProbeFailed}:  {events.StateHalfOpen},
		{To: events.StateHalfOpen, Reason: events.ReasonCooldown}: {events.StateOpen},
		{To: events.StateClosed, Reason: events.ReasonProbesOK}:   {events.StateHalfOpen},
		{To: events.StateClosed, Reason: events.ReasonManual}:     {events.StateOpen, events.StateHalfOpen, events.StateForcedOpen, events.StateDisabled},
		{To: events.StateForcedOpen, Reason: events.ReasonManual}: {events.StateClosed, events.StateOpen, events.StateHalfOpen, events.StateDisabled},
		{To: events.StateDisabled, Reason: events.ReasonManual}:   {events.StateClosed, events.StateOpen, events.StateHalfOpen, events.StateForcedOpen},
	}
	for _, cfg := range []BreakerConfig{
		{ConsecutiveFailures: 2}, {FailureRatio: 0.5, MinCalls: 2, Window: 1000}, {FailureRatio: 0.5, WindowCalls: 4, Probes: 2},
		{SlowCall: 20, MinCalls: 2, Window: 1000, CountDeadlines: true}, {SlowCall: 20, FailureRatio: 0.5, WindowCalls: 3, ConsecutiveFailures: 5, Probes: 3},
		{ConsecutiveFailures: 2, Shadow: true}, {SlowRatio: 0.3, SlowCall: 20, WindowCalls: 3, Shadow: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			cfg.Name, cfg.Bus, cfg.Cooldown, cfg.MaxProbeTime = "db", bus, 50, 40
			b := MustBreaker(cfg)
			var seq uint64
			at := events.StateClosed
			bus.BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) {
				from := allowed[events.Transition{To: e.To, Reason: e.Reason}]
				ok := false
				for _, s := range from {
					ok = ok || s == e.From
				}
				if !ok || e.Seq != seq+1 || e.From != at || e.Failures > e.Calls || e.SlowCalls > e.Calls || e.Calls < 0 {
					t.Errorf("%d %v: %d %v -> %v, %v: %+v", seq, at, e.Seq, e.From, e.To, e.Reason, e)
				}
				seq, at = e.Seq, e.To
			})
			var wg sync.WaitGroup
			for i := range 6 {
				wg.Go(func() {
					random := rand.New(rand.NewPCG(9, uint64(i)))
					for range 2000 {
						switch n := random.Uint32N(200); {
						case n < 4:
							[]func(){b.Reset, b.ForceOpen, b.Disable, b.Enable}[n]()
						case n < 10:
							b.Reset()
						default:
							ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+random.Int64N(60)))
							_ = b.Run(ctx, func(ctx context.Context) error {
								time.Sleep(time.Duration(random.Int64N(40)))
								if n%3 == 0 {
									return errors.New("boom")
								}
								return ctx.Err()
							})
							cancel()
						}
						if s := b.Snapshot(); s.State < events.StateClosed || s.State > events.StateDisabled || s.Failures > s.Calls || s.SlowCalls > s.Calls {
							t.Errorf("read %+v", s)
						}
						b.mu.Lock()
						if trial := b.machine.trial; (trial != nil) != (b.machine.state == events.StateHalfOpen) || trial != nil && len(trial.under) > int(b.machine.rules.probes) {
							t.Errorf("%v with %+v", b.machine.state, trial)
						}
						b.mu.Unlock()
					}
				})
			}
			wg.Wait()
			synctest.Wait()
			if s := b.Snapshot(); s.Seq != seq || seq < 50 || bus.Dropped() != 0 {
				t.Errorf("told up to %d of %d, %d dropped", seq, s.Seq, bus.Dropped())
			}
		})
	}
}
