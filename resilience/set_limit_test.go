package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// LIM-07: who waits and may go now goes at once, in order; a lower limit counts for the next call.
func TestSetMaxConcurrentTakesEffectAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulkhead(1, 10, 0)
		var order []int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				if err := b.Run(t.Context(), func(context.Context) error {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
					time.Sleep(time.Minute)
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		stand := func(limit, usage, queued int64) {
			t.Helper()
			synctest.Wait()
			if s := b.Snapshot(); s != (events.LimiterReading{Limit: limit, Usage: usage, Queued: queued}) {
				t.Errorf("%+v", s)
			}
		}
		stand(1, 1, 4)
		set(t, b, 3)
		stand(3, 3, 2)
		set(t, b, 2) // one has to end for nobody
		stand(2, 3, 2)
		time.Sleep(time.Minute)
		stand(2, 2, 0)
		wg.Wait()
		slices.Sort(order[1:3]) // they go at one time
		if !slices.Equal(order[:3], []int{0, 1, 2}) {
			t.Errorf("in order %v", order)
		}
		set(t, b, 4)
		room(t, b)
	})
}

func set(t *testing.T, b *resilience.Bulkhead, n int) {
	t.Helper()
	if err := b.SetMaxConcurrent(n); err != nil {
		t.Error(err)
	}
}

// LIM-07: permits are conserved, and never more run than the highest limit, while the limit changes.
func TestPermitsAreConservedWhileTheLimitChanges(t *testing.T) {
	for _, queue := range []int{0, 20} {
		b := bulkhead(4, queue, time.Duration(queue)*5*time.Microsecond)
		var running atomic.Int64
		var callers, setter sync.WaitGroup
		stop := make(chan struct{})
		setter.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					set(t, b, 1+i%8)
				}
			}
		})
		for i := range 16 {
			callers.Go(func() {
				for n := range 400 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration((i*n)%200)*time.Microsecond)
					_ = b.Run(resilience.WithPriority(ctx, resilience.Priority(n%4-2)), func(context.Context) error {
						if n := running.Add(1); n > 8 {
							t.Errorf("%d at once", n)
						}
						running.Add(-1)
						return nil
					})
					cancel()
				}
			})
		}
		callers.Wait()
		close(stop)
		setter.Wait()
		set(t, b, 5)
		room(t, b)
	}
}

// LIM-07: only what changes is told, in order; a handler may set another limit, or end the goroutine.
func TestChangesOfALimitAreTold(t *testing.T) {
	synctest.Test(t, toldChanges)
}

func toldChanges(t *testing.T) {
	bus := events.NewBus()
	b := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", MaxConcurrent: 2, Bus: bus})
	l := resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "quota", Rate: 10, Bus: bus})
	var told []string
	bus.LimitChanged.Subscribe(func(_ context.Context, e events.LimitChanged) {
		told = append(told, fmt.Sprint(e.Source.Layer(), " ", e.From, "->", e.To, " ", e.Rate, " ", e.Reason, " ", e.Meta.At.IsZero()))
		if e.To == 7 {
			set(t, b, 8)
		}
	})
	for _, n := range []int{2, 5, 5, 7, 8} {
		set(t, b, n)
		synctest.Wait() // the one from inside the handler is told by another goroutine
	}
	for _, r := range [][3]int{{10, 1, 10}, {10, 0, 0}, {10, 2, 10}, {20, 2, 3}} {
		if err := l.SetRate(r[0], time.Duration(r[1])*time.Second, r[2]); err != nil {
			t.Error(err)
		}
	}
	want := []string{"pool 2->5 0 manual false", "pool 5->7 0 manual false", "pool 7->8 0 manual false",
		"quota 10->10 5 manual false", "quota 10->3 10 manual false"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
	if got := fmt.Sprint(b.LayerInfo().Settings, l.LayerInfo().Settings, ints(bus, b, l).Describe().Layers[0].Settings); got !=
		"[{max_concurrent 8} {max_queue 0}] [{rate 20} {per 2s} {burst 3}] [{max_concurrent 8} {max_queue 0}]" {
		t.Error(got)
	}
	p := ints(bus, b, l)
	set(t, b, 9)
	if got := p.Describe().Layers[0].Settings[0].Value; got != "9" || b.Snapshot().Limit != 9 || l.Snapshot().Limit != 3 {
		t.Errorf("described as %v", got)
	}
}

// LIM-07, PIPE-09
func TestBadLimitsAreRefusedAndChangeNothing(t *testing.T) {
	bus := events.NewBus()
	bus.LimitChanged.Subscribe(func(context.Context, events.LimitChanged) { t.Error("told") })
	b := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", MaxConcurrent: 2, Bus: bus})
	l := resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "quota", Rate: 10, Bus: bus})
	before := fmt.Sprint(b.LayerInfo(), l.LayerInfo())
	for field, err := range map[string]error{
		"Bulkhead.MaxConcurrent = 0":                    b.SetMaxConcurrent(0),
		"Bulkhead.MaxConcurrent = -1":                   b.SetMaxConcurrent(-1),
		"RateLimiter.Rate = 0":                          l.SetRate(0, 0, 0),
		"RateLimiter.Rate = 2":                          l.SetRate(2, 1, 0),
		"RateLimiter.Per = -1ns":                        l.SetRate(1, -1, 0),
		"RateLimiter.Burst = -1":                        l.SetRate(1, 0, -1),
		fmt.Sprint("RateLimiter.Burst = ", math.MaxInt): l.SetRate(1, 0, math.MaxInt),
		fmt.Sprint("RateLimiter.Rate = ", math.MinInt):  l.SetRate(math.MinInt, 0, 1),
	} {
		config := new(resilience.ConfigError)
		if !errors.As(err, &config) || fmt.Sprintf("%s.%s = %v", config.Type, config.Field, config.Value) != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if after := fmt.Sprint(b.LayerInfo(), l.LayerInfo()); after != before {
		t.Errorf("%s, was %s", after, before)
	}
	if new(resilience.Bulkhead).SetMaxConcurrent(1) == nil || new(resilience.RateLimiter).SetRate(1, 0, 0) == nil {
		t.Error("what was not made by its constructor has got a limit")
	}
}
