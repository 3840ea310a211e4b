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
)

// Two pipelines call the same payment provider. When it is down, each call of either would be made three times, which is the
// last thing a provider in trouble needs. One budget for both allows ten extra attempts a minute between them.
func Test_sharedRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "payments", Allowance: 10, Window: time.Minute, Bus: bus})
		retry := resilience.Retry{MaxAttempts: 3, Backoff: resilience.Constant(100 * time.Millisecond), Budget: budget}
		charges := resilience.MustPipeline(resilience.PipelineConfig[string]{Name: "payments.charge", Layers: []resilience.Layer{retry}, Bus: bus})
		receipts := resilience.MustPipeline(resilience.PipelineConfig[[]byte]{Name: "payments.receipt", Layers: []resilience.Layer{retry}, Bus: bus})

		denied := map[string]int{}
		bus.RetryStopped.Subscribe(func(_ context.Context, e events.RetryStopped) {
			if e.Reason == events.ReasonBudget {
				denied[e.Source.Pipeline()]++
			}
		})

		sent := 0
		down := errors.New("503")
		for range 20 {
			_, _ = charges.Do(t.Context(), func(context.Context) (string, error) { sent++; return "", down })
			_, _ = receipts.Do(t.Context(), func(context.Context) ([]byte, error) { sent++; return nil, down })
		}
		if sent != 40+10 || budget.Available() != 0 {
			t.Errorf("%d requests were sent for 40 calls, %d extra attempts are left", sent, budget.Available())
		}
		if denied["payments.charge"] == 0 || denied["payments.receipt"] == 0 {
			t.Errorf("denied: %v", denied)
		}

		time.Sleep(time.Minute) // the next window
		sent = 0
		answer, err := charges.Do(t.Context(), func(context.Context) (string, error) {
			if sent++; sent < 2 {
				return "", down
			}
			return "charged", nil
		})
		if answer != "charged" || err != nil || budget.Available() != 9 {
			t.Errorf("%q, %v, %d left", answer, err, budget.Available())
		}
	})
}

// The person on call asks how much is left of a budget, and whose pipelines use it.
func Example_retryBudgetAtAGlance() {
	bus := events.NewBus()
	budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "payments", Bus: bus})
	charge := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "payments.charge", Bus: bus,
		Layers: []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay, Budget: budget}}})

	_, _ = charge.Do(context.Background(), func(context.Context) (int, error) { return 0, errDown })
	for _, s := range bus.Sources() {
		if reading, ok := s.Budget(); ok {
			fmt.Printf("%s: %d of %d extra attempts left\n", s.Layer(), reading.Available, reading.Limit)
		}
		for _, l := range s.Layers() {
			fmt.Println(l, "uses", l.Shared())
		}
	}
	// Output:
	// payments: 47 of 50 extra attempts left
	// payments.charge/retry (retry) uses payments (retry_budget)
}
