// Package resilience holds the primitives (retry, circuit breaker, timeout, bulkhead, rate limiter, adaptive limiter,
// fallback, singleflight, hedge) and the pipelines they are composed into. They tell what they do on an [events.Bus] and
// know no telemetry.
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
// # The order of layers
//
// What stands outside a [Retry] sees whole calls, what stands inside it sees each attempt. Who does not know better takes,
// the outermost first,
//
//	[Singleflight] [Fallback] Bulkhead, Timeout (the call), Retry, RateLimiter or AdaptiveLimiter, Breaker, Timeout (the attempt)
//
// and leaves out what the call does not need. docs/recipes.md says why, and has compositions for other needs. Some
// orders that hardly do what was meant tell so: see [Pipeline.Warnings].
//
// # Who asks what about a failure
//
//	PipelineConfig.Classify  what is a failure at all? Asked once an attempt, before everything else. It can make a value a failure, and an error none.
//	Retry.If                 may it be repeated? Nil: PipelineConfig.RetryIf, else every failure.
//	Hedge.If                 may another run answer instead? Nil: PipelineConfig.RetryIf, else every failure.
//	BreakerConfig.FailureIf  is it the dependency's fault? Nil: PipelineConfig.FailureIf, else every failure.
//	Fallback.If              would another answer do? Nil: every failure.
//	AdaptiveLimiterConfig.OverloadIf  has it turned a call away for want of room? Nil: the statuses that say so. Not asked about timeouts.
//
// None of those after Classify is asked about the caller's cancellation or a panic, and of a rejection by one of our own
// layers only Fallback.If is. They are different questions: a mutation that timed out must not be repeated, and is the
// dependency's fault all the same.
//
// # State
//
// What keeps no memory between calls is a literal whose zero fields mean their documented defaults: [Retry], [Timeout],
// [Hedge], [Fallback]. What does is made by a constructor and shared by its pointer: [Breaker], [Bulkhead], [RateLimiter],
// [AdaptiveLimiter], a [Keyed] of one of them for each key, [Singleflight], [Chaos] for drills, and [RetryBudget], which
// is no layer but a field of those that start extra attempts. Pipelines and what is shared are safe for concurrent use.
// Package resiliencetest helps to test what is built of them.
package resilience
