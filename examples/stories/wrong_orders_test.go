package stories_test

import (
	"fmt"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// Wrong orders: layers in an order that hardly does what was meant are built all the same, and warn. A test of the
// service's own that asks for Warnings keeps it from being overlooked.
//
// Not all that is odd warns, since it may be meant: a hedge inside a retry, for one, whose attempts multiply.
func Example_wrongOrders() {
	bus := events.NewBus()
	breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "stock", Bus: bus})
	bulkhead := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "stock", Bus: bus})
	adaptive := resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "load", Bus: bus})
	retry, patient := resilience.Retry{}, resilience.Retry{RetryRejections: true}
	limit := func(d time.Duration) resilience.Timeout { return resilience.Timeout{After: d} }

	for _, wrong := range []struct {
		what   string
		layers []resilience.Layer
	}{
		{"attempt longer than call", []resilience.Layer{limit(time.Second), retry, limit(time.Minute)}},
		{"no repetition between", []resilience.Layer{limit(time.Minute), breaker, limit(time.Second)}},
		{"no time for a second", []resilience.Layer{limit(time.Second), retry, limit(900 * time.Millisecond)}},
		{"nine attempts", []resilience.Layer{retry, breaker, retry, limit(time.Second)}},
		{"place lost in between", []resilience.Layer{retry, bulkhead, limit(time.Second)}},
		{"gives up before cooldown", []resilience.Layer{limit(10 * time.Second), patient, breaker, limit(time.Second)}},
		{"hangs are not noticed", []resilience.Layer{retry, breaker}},
		{"nothing left to repeat", []resilience.Layer{retry, resilience.FallbackValue("sold out"), limit(time.Second)}},
		{"backoff taken for latency", []resilience.Layer{adaptive, retry, limit(time.Second)}},
		{"rejected out of sight", []resilience.Layer{breaker, patient, limit(time.Second)}},
		{"one name for two", []resilience.Layer{bulkhead, retry, breaker, limit(time.Second)}},
	} {
		p := resilience.MustPipeline(resilience.PipelineConfig[string]{Name: wrong.what, Layers: wrong.layers, Bus: bus})
		for _, w := range p.Warnings() {
			fmt.Println(p, w.Code)
		}
	}

	many := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "six attempts", Bus: bus,
		Layers: []resilience.Layer{retry, resilience.Hedge{}, limit(time.Second)},
	})
	fmt.Println(many, many.Warnings())
	// Output:
	// pipeline attempt longer than call [timeout_0 > retry > timeout_2] timeout_order
	// pipeline no repetition between [timeout_0 > stock > timeout_2] timeout_twice
	// pipeline no time for a second [timeout_0 > retry > timeout_2] total_too_short
	// pipeline nine attempts [retry_0 > stock > retry_2 > timeout] nested_retry
	// pipeline place lost in between [retry > stock > timeout] bulkhead_in_retry
	// pipeline gives up before cooldown [timeout_0 > retry > stock > timeout_3] cooldown_too_long
	// pipeline hangs are not noticed [retry > stock] hang_unnoticed
	// pipeline nothing left to repeat [retry > fallback > timeout] failures_hidden
	// pipeline backoff taken for latency [load > retry > timeout] adaptive_outside_retry
	// pipeline rejected out of sight [stock > retry > timeout] rejections_not_retried
	// pipeline one name for two [stock_0 > retry > stock_2 > timeout] same_name
	// pipeline six attempts [retry > hedge > timeout] []
}
