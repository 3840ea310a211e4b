package otelres

import (
	"context"

	"github.com/telltale-go/telltale/events"
)

// subscription is what hears some kinds of events, by name.
type subscription struct {
	kinds  []string
	cancel func()
}

// subscribe hears every kind of event that skipped does not name.
func (a *adapter) subscribe(bus *events.Bus) []subscription {
	a.sources = events.NewTable(bus, a.open, a.drop)
	return []subscription{
		{kindsOf(events.SourceAdded{}, events.SourceRemoved{}), a.sources.Close},
		observe(&bus.Execution, a.executionStarted),
		observe(&bus.Attempt, a.attemptStarted),
		hear(&bus.RetryScheduled, a.retryScheduled),
		hear(&bus.RetryStopped, a.retryStopped),
		hear(&bus.CallRejected, a.callRejected),
		hear(&bus.TimedOut, a.timedOut),
		hear(&bus.BreakerStateChanged, a.stateChanged),
		hear(&bus.HedgeSettled, a.hedgeSettled),
		hear(&bus.HedgeDenied, a.hedgeDenied),
		hear(&bus.FallbackUsed, a.fallbackUsed),
		hear(&bus.FlightJoined, a.flightJoined),
		hear(&bus.FaultInjected, a.faultInjected),
	}
}

// skipped lists the kinds of events that become neither spans nor metrics: most are for logs.
var skipped = kindsOf(
	events.HedgeStarted{},   // the attempt that it starts has a span and a count
	events.LimitChanged{},   // the limit is read when the SDK collects
	events.ShadowRejected{}, // as a rejection, a breaker in shadow mode would look like one that refuses
	events.KeyEvicted{},     // which keys there are is read when the SDK collects
	events.ConfigWarning{},
	events.LateResult{},
	events.DiscardFailed{},
	events.CallbackPanicked{},
	events.HandlerPanicked{}, // the bus counts panics; that is read when the SDK collects
)

func hear[E events.Event](t *events.Topic[E], handle func(context.Context, E)) subscription {
	var zero E
	return subscription{kindsOf(zero), t.Subscribe(handle)}
}

func observe[S, F events.Event](i *events.Interval[S, F], start func(context.Context, S) (context.Context, func(F))) subscription {
	var begin S
	var end F
	return subscription{kindsOf(begin, end), i.Observe(start)}
}

func kindsOf(zeros ...events.Event) []string {
	names := make([]string, len(zeros))
	for i, e := range zeros {
		names[i] = e.EventName()
	}
	return names
}
