package stories_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// A policy is worth a test: how long does a caller wait at worst, and how soon is the service back after an outage? In
// a synctest bubble minutes pass in no time and the figures are exact.
func TestPolicyInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		service := &remote{}
		breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "stock", ConsecutiveFailures: 3, Cooldown: 30 * time.Second})
		stock := resilience.MustPipeline(resilience.PipelineConfig[string]{
			Name: "stock.get",
			Layers: []resilience.Layer{
				resilience.Timeout{Name: "total", After: 5500 * time.Millisecond},
				resilience.Retry{Backoff: resilience.Exponential{Base: time.Second}, Jitter: resilience.JitterNone},
				breaker,
				resilience.Timeout{Name: "attempt", After: time.Second},
			},
		})

		// The service hangs. Three attempts of 1 s with waits of 1 s and 2 s between would take 6 s: the total cuts the
		// third short. (With a total of 5 s there would be no third: it would start just at the end, so the retry would
		// stop after 3 s.)
		began := time.Now()
		_, err := stock.Do(ctx, hang)
		if took := time.Since(began); took != 5500*time.Millisecond || !errors.Is(err, resilience.ErrTimeout) {
			t.Errorf("a hanging service costs a caller %v (%v), want 5.5s and a timeout", took, err)
		}
		if s := breaker.State(); s != events.StateOpen {
			t.Errorf("the breaker is %v after three attempts that hung, want open", s)
		}

		// The service is back at once, and is asked again when the cooldown has passed.
		time.Sleep(30*time.Second - 1)
		if _, err := stock.Do(ctx, service.get); !errors.Is(err, resilience.ErrBreakerOpen) {
			t.Errorf("one nanosecond before the cooldown's end: %v, want a refusal", err)
		}
		time.Sleep(time.Nanosecond)
		if _, err := stock.Do(ctx, service.get); err != nil {
			t.Errorf("at the cooldown's end: %v, want an answer", err)
		}
		if s := breaker.State(); s != events.StateClosed {
			t.Errorf("the breaker is %v after a good probe, want closed", s)
		}
	})
}

// The retry's delays, as an operator will see them in a log: read from the events.
func TestDelaysInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		var delays []time.Duration
		defer bus.RetryScheduled.Subscribe(func(_ context.Context, e events.RetryScheduled) { delays = append(delays, e.Delay) })()
		slow := resilience.MustPipeline(resilience.PipelineConfig[string]{
			Name: "slow.get", Bus: bus,
			Layers: []resilience.Layer{resilience.Retry{
				MaxAttempts: 6, Backoff: resilience.Exponential{Base: time.Second}, Jitter: resilience.JitterNone, MaxDelay: 5 * time.Second,
			}},
		})

		began := time.Now()
		_, err := slow.Do(t.Context(), (&remote{down: always}).get)

		if took := time.Since(began); took != 17*time.Second || !errors.Is(err, errDown) {
			t.Errorf("six attempts took %v (%v), want 1+2+4+5+5 s", took, err)
		}
		if len(delays) != 5 || delays[4] != 5*time.Second {
			t.Errorf("delays %v", delays)
		}
	})
}
