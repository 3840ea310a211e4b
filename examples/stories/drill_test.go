package stories_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// A drill: does the pipeline of the payments do what we think, when the provider goes down and when it is slow? The Chaos
// stands innermost, where the provider would fail; it is off until somebody enables it, also in production, where Rate
// and Keys keep the drill small. The recorder then says what happened.
func TestDrill_aProviderThatGoesDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		rec := resiliencetest.Record(bus)
		errRefused := errors.New("drill: connection refused")
		down := resilience.MustChaos(resilience.ChaosConfig{Name: "provider_down", Rate: 1, Err: errRefused, Keys: []string{"tenant:drill"}, Bus: bus})
		provider := resilience.MustBreaker(resilience.BreakerConfig{Name: "provider", ConsecutiveFailures: 2, Cooldown: 10 * time.Second, Bus: bus})
		pay := resilience.MustPipeline(resilience.PipelineConfig[string]{
			Name: "payments.pay", Bus: bus,
			Layers: []resilience.Layer{
				resilience.Retry{MaxAttempts: 3, Backoff: resilience.Constant(100 * time.Millisecond)},
				provider,
				resilience.Timeout{After: time.Second},
				down,
			},
		})
		op := resiliencetest.Script(resiliencetest.Returns("paid"))

		if v, err := pay.DoKey(t.Context(), "tenant:drill", op.Do); v != "paid" || err != nil {
			t.Fatalf("before the drill: %q, %v", v, err)
		}
		down.Enable()
		if _, err := pay.DoKey(t.Context(), "tenant:drill", op.Do); !errors.Is(err, resilience.ErrBreakerOpen) {
			t.Errorf("in the drill: %v", err)
		}
		down.Disable()
		time.Sleep(10 * time.Second)
		if v, err := pay.DoKey(t.Context(), "tenant:drill", op.Do); v != "paid" || err != nil {
			t.Errorf("after the drill: %q, %v", v, err)
		}

		if op.Runs() != 2 {
			t.Errorf("the provider was called %d times, want 2: the faults never reached it", op.Runs())
		}
		resiliencetest.Want(t, rec,
			events.FaultInjected{Fault: events.FaultError, Err: errRefused},
			events.FaultInjected{Fault: events.FaultError, Err: errRefused},
		)
		resiliencetest.Want(t, rec,
			events.BreakerStateChanged{To: events.StateOpen, Reason: events.ReasonConsecutive},
			events.BreakerStateChanged{To: events.StateHalfOpen},
			events.BreakerStateChanged{To: events.StateClosed},
		)
		resiliencetest.WantNone[events.TimedOut](t, rec)
	})
}

// A slow provider: the timeout of the attempt cuts a delay short.
func Example_drillOfASlowProvider() {
	slow := resilience.MustChaos(resilience.ChaosConfig{
		Name: "provider_slow", Rate: 0.5, Latency: 20 * time.Millisecond, MaxLatency: time.Hour, Seed: 1, Enabled: true,
	})
	quote := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "quotes.get",
		Layers: []resilience.Layer{
			resilience.Retry{MaxAttempts: 5, Backoff: resilience.NoDelay},
			resilience.Timeout{After: 10 * time.Millisecond},
			slow,
		},
	})
	v, err := quote.Do(context.Background(), func(context.Context) (string, error) { return "41.90", nil })
	fmt.Println(v, err)
	// Output: 41.90 <nil>
}
