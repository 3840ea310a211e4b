package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-13: letting go of a value that is superseded may end the goroutine, too: that value is discarded once, nothing is
// discarded that never was, and what was to take its place is discarded as well.
func TestLettingGoOfASupersededValueMayEndTheGoroutine(t *testing.T) {
	type pipeline = resilience.PipelineConfig[int]
	around := func(f func(ctx context.Context, next func(context.Context) error) error) func(*pipeline) {
		return func(p *pipeline) { p.Layers = append(p.Layers, resilience.Around("rude", f)) }
	}
	for what, c := range map[string]struct {
		value   int // that the operation returns first, then the next; from 7 on they are failing ones
		want    []int
		prepare func(*pipeline)
	}{
		"Around that runs again": {1, []int{1}, around(func(ctx context.Context, next func(context.Context) error) error {
			_ = next(ctx)
			return next(ctx)
		})},
		"Around that fails": {1, []int{1}, around(func(ctx context.Context, next func(context.Context) error) error {
			_ = next(ctx)
			return errBoom
		})},
		"a fallback": {7, []int{7, 3}, func(p *pipeline) {
			p.Layers = append(p.Layers, resilience.FallbackTo(func(context.Context, int, error) (int, error) { return 3, nil }))
		}},
		"a retry": {7, []int{7}, func(p *pipeline) { p.Layers = append(p.Layers, resilience.Retry{}) }},
	} {
		for _, by := range []string{"Discard", "a handler", "a held gate"} {
			synctest.Test(t, func(t *testing.T) {
				bus, value := events.NewBus(), c.value-1
				var discarded []int
				p := pipeline{Name: "p", Bus: bus, Classify: func(v int, err error) error {
					if v >= 7 {
						return errStatus
					}
					return err
				}}
				p.Discard = func(v int) error {
					if discarded = append(discarded, v); len(discarded) == 1 && by == "Discard" {
						runtime.Goexit()
					}
					return errBoom
				}
				bus.DiscardFailed.Subscribe(func(context.Context, events.DiscardFailed) {
					if by == "a handler" {
						runtime.Goexit()
					}
				})
				if c.prepare(&p); by == "a held gate" {
					p.Hold = func(v int, _ resilience.Held) int { return v }
					p.Layers = append(p.Layers, rude{runtime.Goexit})
				}
				left := make(chan struct{})
				go func() {
					defer close(left)
					v, err := resilience.MustPipeline(p).Do(t.Context(), func(context.Context) (int, error) {
						value++
						return value, nil
					})
					t.Errorf("%s, %s: returned %d, %v", what, by, v, err)
				}()
				<-left
				if !slices.Equal(discarded, c.want) {
					t.Errorf("%s, %s: discarded %d, want %d", what, by, discarded, c.want)
				}
			})
		}
	}
}

// PIPE-13, SFL-03: a flight lands, and its key is free, also if what its run held ends the goroutine.
func TestAFlightLandsWhoseReleaseEndsTheGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flights := joined()
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.NewBus(),
			Layers:  []resilience.Layer{flights, resilience.Timeout{After: time.Second}, rude{runtime.Goexit}},
			Hold:    func(v int, _ resilience.Held) int { return v },
			Discard: func(int) error { return nil }})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for i := range 2 {
			_, err := p.DoKey(ctx, "k", func(context.Context) (int, error) { time.Sleep(2 * time.Second); return i + 1, nil })
			if !errors.Is(err, resilience.ErrTimeout) || flights.InFlight() != 0 {
				t.Errorf("%v, %v", err, flights)
			}
		}
	})
}

// PIPE-13: a failing value that nobody waits for is discarded, also if its failure is a panic that another pipeline recovered,
// and whoever hears of that ends the goroutine.
func TestAFailingValueWithAPanicIsDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, discarded := events.NewBus(), 0
		bus.CallbackPanicked.Subscribe(func(context.Context, events.CallbackPanicked) { runtime.Goexit() })
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus,
			Layers: []resilience.Layer{resilience.Timeout{After: time.Second, Abandon: true}},
			Classify: func(v int, err error) error {
				if v > 0 {
					return fmt.Errorf("inner: %w", &resilience.PanicError{Value: "inner"})
				}
				return err
			},
			Discard: func(int) error { discarded++; return nil }})
		_, err := p.Do(t.Context(), func(context.Context) (int, error) { time.Sleep(2 * time.Second); return 1, nil })
		time.Sleep(time.Minute)
		if synctest.Wait(); err == nil || discarded != 1 {
			t.Errorf("%v, %d discarded", err, discarded)
		}
	})
}
