package stories_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// A tenant's priority under load: trial accounts are served as long as there is room, paying ones are shed last. The edge
// of the service sets the priority once; whatever is called with that context has it.
func Example_tenantsPriority() {
	plan := map[string]resilience.Priority{"acme": resilience.PriorityCritical, "trial-77": resilience.PrioritySheddable}
	reports := resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "reports", Initial: 8})

	served := map[string]int{}
	for range 6 { // requests that all take their time
		for _, tenant := range []string{"trial-77", "globex", "acme"} {
			ctx := resilience.WithPriority(context.Background(), plan[tenant])
			if _, err := reports.Acquire(ctx); err == nil {
				served[tenant]++
			}
		}
	}
	fmt.Println(served, reports)
	// Output: map[acme:4 globex:3 trial-77:2] adaptive limiter reports (9 of 8)
}

// The batch waits for its turn, until a customer needs the place.
func Test_batchMakesRoomForACustomer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		bus.CallRejected.Subscribe(func(_ context.Context, e events.CallRejected) {
			if e.Key != "batch" || e.Reason != events.ReasonShed {
				t.Errorf("%+v", e)
			}
		})
		pages := resilience.MustPipeline(resilience.PipelineConfig[string]{
			Name: "render", Bus: bus,
			Layers: []resilience.Layer{resilience.MustBulkhead(resilience.BulkheadConfig{Name: "renderers", MaxConcurrent: 1, MaxQueue: 1, Bus: bus})},
		})
		busy, done := make(chan bool), make(chan bool)
		go func() {
			_, _ = pages.Do(t.Context(), func(context.Context) (string, error) { <-busy; return "", nil })
			done <- true
		}()
		synctest.Wait()
		go func() {
			_, err := pages.DoKey(resilience.WithPriority(t.Context(), resilience.PriorityLow), "batch", (&remote{}).get)
			done <- resilience.KindOf(err) == resilience.KindLimited
		}()
		synctest.Wait()
		go func() {
			_, err := pages.DoKey(t.Context(), "customer", (&remote{}).get)
			done <- err == nil
		}()
		if !<-done {
			t.Error("the batch was not shed")
		}
		busy <- true
		for range 2 {
			if !<-done {
				t.Error("the customer was not served")
			}
		}
	})
}
