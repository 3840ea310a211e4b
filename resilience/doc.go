// Package resilience holds the primitives (retry, circuit breaker, timeout, bulkhead) and the pipelines they are composed
// into. They tell what they do on an [events.Bus] and know no telemetry.
//
//	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "payments-db", FailureRatio: 0.5})
//	users := resilience.MustPipeline(resilience.PipelineConfig[*User]{
//		Name: "users.get",
//		Layers: []resilience.Layer{ // outermost first
//			resilience.Timeout{After: 2 * time.Second},
//			resilience.Retry{MaxAttempts: 3},
//			db,
//			resilience.Timeout{After: 500 * time.Millisecond},
//		},
//	})
//	user, err := users.Do(ctx, fetchUser)
//
// What keeps no memory between calls is a literal whose zero fields mean their documented defaults: [Retry], [Timeout].
// What does is made by a constructor and shared by its pointer: [Breaker], [Bulkhead]. Pipelines, breakers and
// bulkheads are safe for concurrent use.
package resilience
