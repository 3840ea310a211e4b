package resilience_test

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
	"github.com/telltale-go/telltale/resilience"
)

// admissions notes when calls were let through.
type admissions struct {
	mu sync.Mutex
	at []time.Time
}

func (a *admissions) note(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = append(a.at, time.Now())
	return nil
}

// within checks every window: of n calls in a span t, (n - burst) x per is at most rate x t.
func (a *admissions) within(t *testing.T, rate int64, per time.Duration, burst int64) {
	t.Helper()
	var least int64 // of what a window that begins at one of the calls before has left
	for n, at := range a.at {
		value := int64(n)*int64(per) - rate*int64(at.Sub(a.at[0]))
		least = min(least, value)
		if value-least+int64(per) > burst*int64(per) {
			t.Fatalf("call %d of %d: too many in a window at %d a %v with a burst of %d", n, len(a.at), rate, per, burst)
		}
	}
}

// LIM-06, LIM-05: 64 callers come, wait, leave and are refused, at random.
func TestNoWindowHasMoreThanTheRateAndTheBurst(t *testing.T) {
	var waited, refused, left atomic.Int64
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 6))
			cfg := resilience.RateLimiterConfig{Name: "quota", Rate: 1 + r.IntN(200), Per: time.Duration(1+r.IntN(5000)) * time.Millisecond,
				Burst: 1 + r.IntN(20), MaxWait: time.Duration(r.IntN(3)) * 200 * time.Millisecond, Bus: events.NewBus()}
			l := resilience.MustRateLimiter(cfg)
			var seen admissions
			var wg sync.WaitGroup
			for i := range uint64(64) {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(seed, 100+i))
					for range 30 {
						time.Sleep(time.Duration(r.ExpFloat64() * float64(cfg.Per) / float64(cfg.Rate) * 20))
						ctx, cancel := context.WithCancel(t.Context())
						switch r.IntN(4) {
						case 0:
							stop := time.AfterFunc(time.Duration(r.IntN(300))*time.Millisecond, cancel)
							defer stop.Stop()
						case 1:
							ctx, cancel = context.WithTimeout(t.Context(), time.Duration(r.IntN(300))*time.Millisecond)
						}
						began := time.Now()
						limited := new(resilience.LimitedError)
						switch err := l.Run(ctx, seen.note); {
						case errors.As(err, &limited):
							if refused.Add(1); time.Since(began) != 0 || limited.Reason != events.ReasonRate || limited.After <= 0 {
								t.Errorf("%v after %v", err, time.Since(began))
							}
						case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
							left.Add(1)
						case err != nil:
							t.Error(err)
						case time.Since(began) > cfg.MaxWait:
							t.Errorf("waited %v, at most %v", time.Since(began), cfg.MaxWait)
						case time.Since(began) > 0:
							waited.Add(1)
						}
						cancel()
					}
				})
			}
			wg.Wait()
			seen.within(t, int64(cfg.Rate), cfg.Per, int64(cfg.Burst))
			stands(t, l, l.Snapshot().Usage, 0)
			time.Sleep(time.Duration(cfg.Burst) * (cfg.Per/time.Duration(cfg.Rate) + 1))
			stands(t, l, 0, 0)
			if n := through(t, l); n != cfg.Burst {
				t.Errorf("%d of the burst of %d are there again", n, cfg.Burst)
			}
		})
	}
	if waited.Load() == 0 || refused.Load() == 0 || left.Load() == 0 {
		t.Errorf("not all of it happened: %d waited, %d were refused, %d left", waited.Load(), refused.Load(), left.Load())
	}
}

// LIM-06: on the real clock, 64 callers at once, some of whom wait and leave.
func TestStormOfCallersKeepsTheRate(t *testing.T) {
	for _, wait := range []time.Duration{0, 200 * time.Microsecond} {
		const rate, burst = 20_000, 10
		began := time.Now()
		l := rated(rate, burst, wait)
		var admitted, refused atomic.Int64
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				for n := range 300 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration((i*n)%300)*time.Microsecond)
					switch err := l.Run(ctx, succeed); {
					case err == nil:
						admitted.Add(1)
					case errors.Is(err, resilience.ErrLimited):
						refused.Add(1)
					}
					cancel()
				}
			})
		}
		wg.Wait()
		most := int64(time.Since(began))*rate/int64(time.Second) + burst
		if n := admitted.Load(); n > most || n == 0 || refused.Load() == 0 {
			t.Errorf("%d let through, at most %d; %d refused", n, most, refused.Load())
		}
		if s := l.Snapshot(); s.Queued != 0 || s.Usage > burst {
			t.Errorf("left behind: %+v", s)
		}
	}
}

// LIM-06: of callers who come at one instant, no two have the same part of the burst, nor the same turn after it.
func TestNoTwoCallersHaveTheSamePart(t *testing.T) {
	const burst = 50_000
	l := resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "quota", Rate: 1, Per: time.Hour, Burst: burst, Bus: events.NewBus()})
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 2 * burst / 64 {
				if _, err := l.Admit(t.Context(), resilience.Call{}); err == nil {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if admitted.Load() != burst {
		t.Errorf("%d went through at once, the burst is %d", admitted.Load(), burst)
	}
	synctest.Test(t, func(t *testing.T) {
		const all = 20_000
		l := rated(1000, 1, time.Hour)
		began := time.Now()
		var wg sync.WaitGroup
		for range all {
			wg.Go(func() {
				if _, err := l.Admit(t.Context(), resilience.Call{}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took != (all-1)*time.Millisecond {
			t.Errorf("%d calls took %v at one a millisecond", all, took)
		}
	})
}

// LIM-06: the turn, and the end of the context of one who waits for it, at one instant, many times: nothing is lost, and
// nothing is had twice.
func TestNoPartIsLostWhenATurnRacesWithLeaving(t *testing.T) {
	var admitted, left int
	synctest.Test(t, func(t *testing.T) {
		l := rated(1000, 1, time.Second)
		for range 2000 {
			time.Sleep(time.Second)
			if n := through(t, l); n != 1 {
				t.Fatalf("%d, the burst is 1", n)
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			began := time.Now()
			err := l.Run(ctx, succeed)
			cancel()
			if time.Since(began) != time.Millisecond {
				t.Fatalf("after %v", time.Since(began))
			}
			n := through(t, l)
			if err == nil {
				admitted++
			} else {
				left++
			}
			if want := map[bool]int{true: 0, false: 1}[err == nil]; n != want {
				t.Fatalf("%v: then %d more went through, want %d", err, n, want)
			}
		}
	})
	if admitted+left != 2000 || left == 0 {
		t.Errorf("%d admitted, %d left", admitted, left)
	}
}

// LIM-06, PIPE-26: a limiter may be used inside and outside of bubbles, whose clocks are years apart and start anew each
// time; each finds what its own clock allows.
func TestClockThatWentBackKeepsNobodyOut(t *testing.T) {
	shared := map[string]*resilience.RateLimiter{}
	for name, wait := range map[string]time.Duration{"refuses": 0, "waits": time.Minute, "waits for ages": 1<<63 - 1} {
		shared[name] = rated(1, 3, wait)
	}
	for i, ahead := range []time.Duration{2 * 365 * 24 * time.Hour, 100 * 24 * time.Hour, time.Minute, 5 * time.Second} {
		for name, l := range shared {
			if n := through(t, l); n > 3 || n == 0 && i == 0 {
				t.Errorf("%s: outside, %d at once", name, n)
			}
			synctest.Test(t, func(t *testing.T) { // the first inside, and after a clock far ahead of this one
				if n := through(t, l); n != 3 {
					t.Errorf("%s: %d at once", name, n)
				}
				time.Sleep(ahead)
				if n := through(t, l); n != 3 {
					t.Errorf("%s: %v later, %d at once", name, ahead, n)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				for l.Run(t.Context(), succeed) != nil {
					time.Sleep(time.Second)
				}
				if time.Since(began) > time.Second {
					t.Errorf("%s: after a clock %v ahead, kept out for %v", name, ahead, time.Since(began))
				}
			})
		}
	}
}
