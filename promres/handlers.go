package promres

import (
	"context"

	"github.com/telltale-go/telltale/events"
)

// handler is a kind of event that is counted.
type handler struct {
	event     string
	subscribe func(*adapter) (cancel func())
}

// handled and skipped together name every kind of [events.Catalogue].
var handled = []handler{
	{events.ExecutionStarted{}.EventName(), func(a *adapter) func() {
		if a.trace != nil {
			return a.bus.Execution.Watch(a.executionWatched)
		}
		return a.bus.Execution.Observe(func(_ context.Context, e events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
			return nil, a.executionStarted(&e)
		})
	}},
	{events.AttemptStarted{}.EventName(), func(a *adapter) func() {
		if a.trace != nil {
			return a.bus.Attempt.Watch(a.attemptWatched)
		}
		return a.bus.Attempt.Observe(func(_ context.Context, e events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
			return nil, a.attemptStarted(&e)
		})
	}},
	{events.RetryStopped{}.EventName(), func(a *adapter) func() { return a.bus.RetryStopped.Subscribe(a.retryStopped) }},
	{events.CallRejected{}.EventName(), func(a *adapter) func() { return a.bus.CallRejected.Subscribe(a.callRejected) }},
	{events.TimedOut{}.EventName(), func(a *adapter) func() { return a.bus.TimedOut.Subscribe(a.timedOut) }},
	{events.BreakerStateChanged{}.EventName(), func(a *adapter) func() {
		return a.bus.BreakerStateChanged.Subscribe(a.breakerStateChanged)
	}},
	{events.HedgeSettled{}.EventName(), func(a *adapter) func() { return a.bus.HedgeSettled.Subscribe(a.hedgeSettled) }},
	{events.HedgeDenied{}.EventName(), func(a *adapter) func() { return a.bus.HedgeDenied.Subscribe(a.hedgeDenied) }},
	{events.FallbackUsed{}.EventName(), func(a *adapter) func() { return a.bus.FallbackUsed.Subscribe(a.fallbackUsed) }},
	{events.FlightJoined{}.EventName(), func(a *adapter) func() { return a.bus.FlightJoined.Subscribe(a.flightJoined) }},
}

// skipped names the kinds of event that have no handler here, and why.
var skipped = map[string]string{
	events.ExecutionFinished{}.EventName(): "comes with the start's observer",
	events.AttemptFinished{}.EventName():   "comes with the start's observer",
	events.SourceAdded{}.EventName():       "the table of rows observes the sources",
	events.SourceRemoved{}.EventName():     "the table of rows observes the sources",
	events.RetryScheduled{}.EventName():    "proves no attempt; resilience.attempts counts those that start",
	events.LateResult{}.EventName():        "no metric: for logs and traces",
	events.DiscardFailed{}.EventName():     "no metric: for logs",
	events.CallbackPanicked{}.EventName():  "no metric: for logs",
	events.HandlerPanicked{}.EventName():   "the bus counts panics, by subscriber; that is read at the scrape",
	events.HedgeStarted{}.EventName():      "the attempt that it starts is counted, by its kind",
	events.LimitChanged{}.EventName():      "the limit is read at the scrape",
	events.KeyEvicted{}.EventName():        "which keys there are is read at the scrape",
	events.ShadowRejected{}.EventName():    "no metric, or a breaker in shadow mode would look like one that refuses: for logs",
	events.FaultInjected{}.EventName():     "no metric: for logs; what it does to the call is counted as the call's outcome",
	events.ConfigWarning{}.EventName():     "no metric: for logs",
}
