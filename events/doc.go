// Package events is the typed, in-process event bus of Telltale.
//
// The primitives of package resilience publish what they do as typed values; whoever wants to know subscribes:
//
//	stop := events.Default().BreakerStateChanged.Subscribe(func(ctx context.Context, e events.BreakerStateChanged) {
//		log.Printf("%s: %s -> %s (%s)", e.Source.Layer(), e.From, e.To, e.Reason)
//	})
//	defer stop()
//
// Handlers run synchronously inside the call that publishes, in the order of their subscription: they should count or
// copy, and leave slow work to [Topic.SubscribeBuffered] or [NewBuffered], which run on a goroutine of their own and
// never block a call. A handler's panic is recovered, counted and published as [HandlerPanicked].
//
// With nobody listening to a topic, publishing costs one atomic load and no event is built.
//
// The package depends on nothing but the standard library. Every event is listed once, in [Catalogue].
package events
